#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// All-reduce by exchanges of the whole vector between pairs at distance 1, 2, 4, ...; for other
/// than powers of two after a hand-over (Fold).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: log2 n of the size; floor(log2 n) + 1 when n is no power of two.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_recursive_doubling_all_reduce(const Cluster& cluster,
                                                         const Placement& members);

/// All-gather by exchanges of all that one has between pairs at distance 1, 2, 4, ...; for other
/// than powers of two after a hand-over of one's own part (Fold; ours: MPICH and Open MPI take
/// Bruck's algorithm there).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: (n-1)/n of the size received, and as many sent for a power of two; less than 3
/// of it sent else.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_recursive_doubling_all_gather(const Cluster& cluster,
                                                         const Placement& members);

}  // namespace gradwire
