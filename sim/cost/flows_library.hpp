#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cost/collective_library.hpp"

namespace gradwire {

/// Collectives by their messages alone (library `flows`): no library's launch, protocol or table.
/// An algorithm takes what its messages take on the links, with their latencies and shares, and
/// waits where it depends on another: the algorithm itself, without who implements it. Each of a
/// ring's or tree's flows keeps to its part of a link while others of it wait: then more bandwidth
/// never takes more time, and a collective alone takes the same in every fidelity.
///
/// Kernels take nothing of the GPU; one collective at a time.
class FlowsLibrary final : public CollectiveLibrary {
 public:
  /// @param algorithm  a name of algorithms(), for each collective that it does; else, and where it
  ///                   is empty, the fastest for a size of those between ranks that can run there.
  /// REQUIRES: cluster is not null.
  FlowsLibrary(std::shared_ptr<const Cluster> cluster, std::string algorithm);

  /// @throws UnsupportedConfiguration where the named algorithm cannot run among these ranks.
  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  /// The pattern of least steps * latency + bytes on the busiest link of each phase + what fills a
  /// pipeline (the models of closed_form.hpp of the tests, on these links).
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;
  [[nodiscard]] bool sets_times() const override { return false; }

 private:
  /// Seconds of an uncontended pattern: a line in the size.
  struct Line {
    Seconds latency;
    Seconds per_byte;
  };
  [[nodiscard]] const Line& line_of(const Pattern& pattern) const;

  std::shared_ptr<const Cluster> cluster_;
  std::string algorithm_;
  mutable std::unordered_map<std::uint64_t, Line> lines_;  ///< by Pattern::key
};

}  // namespace gradwire
