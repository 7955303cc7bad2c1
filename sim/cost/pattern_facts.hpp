#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/cluster_link.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// How long a byte of the collective's size takes in one phase on a way of its own.
struct PhaseWays {
  Seconds across;  ///< from machine to machine, the slowest flow; 0: none leaves its machine
  Seconds inside;  ///< within a machine, the slowest flow; 0: none stays
  /// Between two ranks of two machines that send to each other, one direction after the other; 0:
  /// no two do.
  Seconds both_ways;
};

/// What a cost model must know of a pattern on its links.
struct PatternFacts {
  /// Of each phase: time for one byte of the collective's size on its busiest link or connection.
  std::vector<Seconds> per_byte;
  std::vector<PhaseWays> ways;  ///< of each phase
  /// Latency of the links of a flow, the largest, of those whose slowest link is NVLink, PCIe (or
  /// between processors), and network. 0 where there is none.
  std::array<Seconds, 3> latency{};
  /// The largest of them.
  [[nodiscard]] Seconds latency_max() const;
};

[[nodiscard]] PatternFacts examine(const Pattern& pattern, ClusterLinks links);

/// The same, kept by Pattern::key: a large pattern takes milliseconds, and a job asks for each of
/// its tensors.
class KnownFacts {
 public:
  /// @param links  must be the same in every call.
  [[nodiscard]] const PatternFacts& of(const Pattern& pattern, ClusterLinks links) const;

 private:
  mutable std::unordered_map<std::uint64_t, PatternFacts> known_;
};

}  // namespace gradwire
