#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// t(m) = alpha + m beta: what an all-reduce of m bytes takes.
struct LinearCost {
  Seconds alpha{};
  Seconds beta{};  ///< of one byte
  [[nodiscard]] Seconds of(Bytes size) const {
    return alpha + static_cast<double>(size.count()) * beta;
  }
};

/// Least squares over 8 Ki, 16 Ki, ... 504 Ki fp32 elements. alpha is not below zero, where a
/// library that changes its algorithm on the way would put it. Source: ddl-benchmarks
/// mgwfbp/hv_distributed_optimizer.py:126-150, profiling.py:138-165
/// (_benchmark_communication).
[[nodiscard]] LinearCost fit_cost(const std::function<Seconds(Bytes)>& all_reduce_time);

/// A gradient as the merge rules see it.
struct MergeItem {
  Seconds ready{};  ///< since the start of backward; not before the one in front of it
  std::int64_t elements = 0;
};
/// The job's gradients in the order in which they come, as a profiler sees them whose hooks wait
/// for the GPU: each makes those behind it come `hook_sync` later, and a layer takes what its host
/// takes where that is longer than its kernels.
/// Source: ddl-benchmarks mgwfbp/profiling.py:98-129, a cuda.synchronize in the hook of every
/// parameter; the time of one is the difference to the hook before.
[[nodiscard]] std::vector<MergeItem> merge_items(const JobView& job, Seconds hook_sync = {});

/// Sizes of groups of consecutive items; their sum is the number of items.
using Grouping = std::vector<int>;

/// When the last all-reduce ends: each group starts when its last item is there and the group
/// before it has ended (equations 6 and 7 of MG-WFBP).
[[nodiscard]] Seconds finish_time(const std::vector<MergeItem>& items, const Grouping& grouping,
                                  const LinearCost& cost);

/// How far a merge rule goes.
struct MergeRule {
  /// Merge too when the next gradient comes less than alpha after this group could have started.
  bool wait_for_alpha = true;
  /// Groups of fewer elements are merged in any case.
  std::int64_t small = 8192;
};

/// MG-WFBP's rule, from the last layer to the first: merge a group with the gradient after it when
/// that one is ready before the group's all-reduce would end, and either the all-reduce could not
/// even have started by then or it would have waited for less than alpha.
///
/// Source: Shi et al., INFOCOM 2019, algorithm 1; ddl-benchmarks
/// mgwfbp/hv_distributed_optimizer.py:224-348 (from where `small` is: 8192; MG-WFBP's own
/// repository does not have it). REQUIRES: not empty.
[[nodiscard]] Grouping merge_by_rule(const std::vector<MergeItem>& items, const LinearCost& cost,
                                     const MergeRule& rule);

/// The grouping that ends first under finish_time(), of all groupings into consecutive items; of
/// equal ones the one with the largest last group. O(n^2): the end of a prefix only ever delays
/// what follows, so the earliest end of each prefix is enough.
[[nodiscard]] Grouping merge_optimally(const std::vector<MergeItem>& items, const LinearCost& cost);

}  // namespace gradwire
