#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// All-reduce by halving and doubling the vector: a reduce-scatter in which pairs at distance
/// 1, 2, 4, ... exchange halves of what they still hold, then the same backwards. When n is no
/// power of two, by binary blocks, as Gloo does (gloo/allreduce_halving_doubling.h): the ranks are
/// split into blocks of falling powers of two; each block halves by itself, a smaller one adds its
/// parts to those of the next larger one as soon as it has them, and gets the result from it.
///
/// Steps: 2 floor(log2 n).
/// Bytes per rank: 2(n-1)/n of the size for a power of two; else at most 2 of it.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_all_reduce(const Cluster& cluster,
                                                       const Placement& members);

/// Reduce-scatter by the halving alone. The parts end up in the order of the ranks' bits reversed,
/// which libraries allow for. When n is no power of two, after a hand-over (Fold), as MPICH does
/// (src/mpi/coll/reduce_scatter, recursive halving).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: (n-1)/n of the size; received, less than 3 of it when n is no power of two.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_reduce_scatter(const Cluster& cluster,
                                                           const Placement& members);

/// All-gather by the doubling alone: plan_halving_doubling_reduce_scatter backwards, with as many
/// steps, and what is sent there received.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_all_gather(const Cluster& cluster,
                                                       const Placement& members);

}  // namespace gradwire
