#pragma once

#include <span>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/engine/engine.hpp"

namespace gradwire {

/// A collective of one size, uncontended on its cluster.
struct UncontendedTime {
  Bytes size{0};
  Seconds time;
  Seconds bound;        ///< what the busiest link needs for its bytes, however the flows are timed
  CollectiveCost cost;  ///< by which it was timed
};

/// Runs `kind` once for each size, one after the other, by what the library chooses for it.
/// REQUIRES: at least two ranks; sizes >= 0.
/// @throws SimulationError when the library cannot do it among these ranks, or the fidelity
/// refuses.
[[nodiscard]] std::vector<UncontendedTime> uncontended_times(
    const Cluster& cluster, const CollectiveLibrary& library, CollectiveKind kind,
    const Placement& ranks, std::span<const Bytes> sizes, EngineOptions options);

}  // namespace gradwire
