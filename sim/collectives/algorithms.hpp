#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// How one algorithm does one collective: for people, and as a planner.
struct AlgorithmVariant {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string_view steps;           ///< on n ranks, as a formula: "2(n-1)"
  std::string_view bytes_per_rank;  ///< sent, for size S: "2(n-1)/n S"
  /// REQUIRES: members are different GPUs. For one member the pattern has no phase.
  /// @throws SimulationError where the algorithm cannot run on these members, with the reason.
  Pattern (*plan)(const Cluster& cluster, const Placement& members);
  /// The same, `kind` of machines that are alike by this fold; null: they are not folded.
  Pattern (*plan_folded)(CollectiveKind kind, const Cluster& cluster, const Placement& members,
                         const MachineFold& fold) = nullptr;
};

struct Algorithm {
  std::string_view name;     ///< as in a scenario: "ring"
  std::string_view summary;  ///< one line: what it does
  std::string_view ranges;   ///< where it can run: "any number of ranks"
  std::string_view source;   ///< paper, or file of the library
  std::vector<AlgorithmVariant> variants;
};

/// Every algorithm. To add one, add its entry to algorithms.cpp.
[[nodiscard]] std::span<const Algorithm> algorithms();

/// @return null when there is no algorithm of that name, or it does not do `kind`.
[[nodiscard]] const AlgorithmVariant* find_algorithm(std::string_view name, CollectiveKind kind);

/// Plans `kind` by the algorithm of that name.
/// @throws SimulationError when it is not one of algorithms(), does not do `kind`, or cannot run on
///         these members; with what can.
[[nodiscard]] Pattern plan_collective(CollectiveKind kind, std::string_view algorithm,
                                      const Cluster& cluster, const Placement& members);
/// The same, folded where that is exact.
[[nodiscard]] Pattern plan_folded_collective(CollectiveKind kind, std::string_view algorithm,
                                             const Cluster& cluster, const Placement& members);

}  // namespace gradwire
