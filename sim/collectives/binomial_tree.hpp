#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Broadcast from rank 0 down a binomial tree: in the round of distance d (falling powers of two),
/// each rank that is a multiple of 2d sends all to the rank d after it (MPICH,
/// src/mpi/coll/bcast, binomial).
///
/// Steps: ceil(log2 n). Bytes per rank: ceil(log2 n) of the size by the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_broadcast(const Cluster& cluster, const Placement& members);

/// Reduce to rank 0: the broadcast backwards.
///
/// Steps: ceil(log2 n). Bytes per rank: the size, by all but the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_reduce(const Cluster& cluster, const Placement& members);

/// Scatter from rank 0 down the same tree: each message holds the parts of the receiver's subtree.
///
/// Steps: ceil(log2 n). Bytes per rank: (n-1)/n of the size by the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_scatter(const Cluster& cluster, const Placement& members);

/// Gather to rank 0: the scatter backwards.
///
/// Steps: ceil(log2 n). Bytes per rank: the parts of its subtree, at most p/(2n) of the size where
/// p is the power of two >= n; received by the root: (n-1)/n.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_gather(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
