#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// The NIC of each machine that libraries of host memory use: the first. Gloo and Open MPI's TCP
/// bind to interfaces, not to what is near a GPU.
constexpr int host_nic = 0;

/// The same flows as a library moves them that works in host memory: over
/// Cluster::append_through_host and host_nic, one TCP connection a pair of ranks.
/// @throws SimulationError as Cluster::append_through_host.
[[nodiscard]] Pattern through_host(Pattern pattern, const Cluster& cluster,
                                   const Placement& members);

/// One ring in the order of the ranks, through host memory.
///
/// all_reduce: a reduce-scatter, and when that has ended everywhere an all-gather. reduce: a
/// reduce-scatter, then every rank sends its part to rank 0 (Gloo, gloo/allreduce.cc,
/// gloo/reduce.cc).
/// Steps: n-1 for each of reduce-scatter and all-gather, 1 for the gather.
/// Bytes per rank: (n-1)/n of the size each; 1/n in the gather, of which the root receives n-1.
/// REQUIRES: kind is all_reduce, reduce_scatter, all_gather or reduce.
/// @throws SimulationError as through_host.
[[nodiscard]] Pattern plan_rank_ring(CollectiveKind kind, const Cluster& cluster,
                                     const Placement& members);

/// Broadcast from rank 0 down a binomial tree in which a rank that has the data sends them to all
/// its children at once, through host memory (Gloo, gloo/broadcast.cc): the children of rank r are
/// r + 2^i for all 2^i > r.
///
/// Steps: ceil(log2 n) after each other on the longest way. Bytes per rank: ceil(log2 n) of the
/// size by the root, over its link at the same time.
/// @throws SimulationError as through_host.
[[nodiscard]] Pattern plan_eager_tree_broadcast(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
