#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// All-reduce around the rings of plan_rings, the bytes split evenly over them: a reduce-scatter
/// (n-1 steps), then an all-gather (n-1 steps), each step moving 1/n of a channel's bytes by one
/// rank.
///
/// Steps: 2(n-1).
/// Bytes per rank: 2(n-1)/n of the size, sent and received. For n = 1 there is no phase.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_all_reduce(const Cluster& cluster, const Placement& members);

/// The first half of it by itself. Steps: n-1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_reduce_scatter(const Cluster& cluster, const Placement& members);

/// The second half of it by itself. Steps: n-1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_all_gather(const Cluster& cluster, const Placement& members);

/// One of the three, of machines that are alike by this fold.
[[nodiscard]] Pattern plan_ring(CollectiveKind kind, const Cluster& cluster,
                                const Placement& members, const MachineFold& fold);

}  // namespace gradwire
