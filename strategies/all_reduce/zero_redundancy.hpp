#pragma once

#include <vector>

#include "strategies/parts/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Whose parameters each rank updates: the largest first, each to the first of the ranks that have
/// the fewest elements so far.
/// Source: torch/distributed/optim/zero_redundancy_optimizer.py, _partition_parameters.
[[nodiscard]] std::vector<std::vector<TensorId>> partition_parameters(const JobView& job);

/// A step of ZeroRedundancyOptimizer: every rank updates its share, and all wait for the broadcasts
/// of all shares; of a tensor each, or with `as_bucket_view` of one flat buffer a rank (of one
/// element where a rank has nothing).
///
/// The ranks' shares differ, and the largest one counts. Its optimizer step is short of launches
/// too: time goes by elements, assumed.
/// Source: the same file, step, _sync_params, _build_param_buckets.
///
/// Posts an OptimizerStep, the broadcasts and the gate behind them.
void post_sharded_step(const JobView& job, bool as_bucket_view, Poster& poster);

}  // namespace gradwire
