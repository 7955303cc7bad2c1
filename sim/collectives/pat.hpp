#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// NCCL's PAT (parallel aggregated trees, from 2.23 on; "PAT: a new algorithm for all-gather and
/// reduce-scatter operations at scale", S. Jeaugey, arXiv 2506.20252): every part goes down its own
/// binomial tree, and what goes the same way at the same time goes together. Planned as rounds of
/// distance 2^k, the longest first (all_gather; backwards for reduce_scatter), in which a rank
/// sends all the parts that it has and the other still lacks.
///
/// NCCL runs it with one GPU in each machine only.
/// Steps: ceil(log2 n). Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError when a machine holds two ranks, or as lay_out.
[[nodiscard]] Pattern plan_pat_all_gather(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_pat_reduce_scatter(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
