#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// All-reduce in three phases, as Horovod's hierarchical and torus all-reduce
/// (horovod/common/ops/nccl_operations.cc): reduce-scatter around the rings inside each machine
/// (those of plan_rings), all-reduce around a ring of the ranks of equal place on each machine, all
/// places at the same time, all-gather inside. A rank's place is its position among its machine's
/// ranks by GPU. With g ranks on each of m machines, n = g m:
///
/// Steps: 2(g-1) + 2(m-1).
/// Bytes per rank: 2(g-1)/g + 2(m-1)/(m g) = 2(n-1)/n of the size.
/// @throws SimulationError as machines_of, and when machines have unequal numbers of ranks.
[[nodiscard]] Pattern plan_hierarchical_all_reduce(const Cluster& cluster,
                                                   const Placement& members);

/// Reduce-scatter inside, then across machines. Steps: (g-1) + (m-1). Bytes per rank: (n-1)/n of
/// the size. @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_reduce_scatter(const Cluster& cluster,
                                                       const Placement& members);

/// All-gather across machines, then inside. Steps: (g-1) + (m-1). Bytes per rank: (n-1)/n of the
/// size. @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_all_gather(const Cluster& cluster,
                                                   const Placement& members);

/// Broadcast from rank 0 down a chain of one rank a machine, those of its place, then from each of
/// them down the chains of its machine's rings; both in pieces (chain_pieces).
///
/// Steps: twice chain_pieces, over m-1 and then g-1 hops. Bytes per rank: the size in each.
/// @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_broadcast(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
