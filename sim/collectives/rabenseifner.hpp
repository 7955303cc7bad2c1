#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Rabenseifner's all-reduce: a reduce-scatter by recursive halving (pairs at distance 1, 2, 4,
/// ...), then an all-gather by recursive doubling, backwards along the same pairs. When n is no
/// power of two, between a hand-over of whole vectors and a hand-back (Fold; MPICH,
/// src/mpi/coll/allreduce, reduce-scatter and all-gather).
///
/// Steps: 2 log2 n; 2 floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: 2(p-1)/p of the size, p = 2^floor(log2 n); 1 more for ranks that stand in for
/// another.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_rabenseifner_all_reduce(const Cluster& cluster,
                                                   const Placement& members);

/// Rabenseifner's reduce to rank 0: the reduce-scatter of the all-reduce, then a gather up the
/// binomial tree of the same pairs.
///
/// Steps: 2 log2 n; 2 floor(log2 n) + 1 when n is no power of two.
/// Bytes per rank: (p-1)/p of the size halving, and at most 1/2 in the gather.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_rabenseifner_reduce(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
