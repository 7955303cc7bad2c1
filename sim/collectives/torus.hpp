#pragma once

#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// The grid that plan_torus_all_reduce lays `ranks` ranks on: the most square one of three
/// dimensions when none of them would be below 4, else the most square one of two. Rising; the
/// product is `ranks`. Empty when there is no grid: a prime number of ranks.
[[nodiscard]] std::vector<int> torus_dimensions(int ranks);

/// All-reduce along the rings of a grid of ranks, one dimension after the other, as on a TPU's
/// torus: reduce-scatter along the last dimension (neighbours in rank order), on what is left along
/// the one before, and so on; then all-gathers the way back. The grid follows the ranks' numbers
/// alone, not the machines. (Horovod's "torus" all-reduce follows the machines: `hierarchical`.)
///
/// Steps: 2 (sum of the dimensions - their number).
/// Bytes per rank: 2(n-1)/n of the size.
/// @throws SimulationError as machines_of, and for a prime number of ranks.
[[nodiscard]] Pattern plan_torus_all_reduce(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
