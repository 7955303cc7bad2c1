#pragma once

#include <functional>
#include <utility>

#include "strategies/strategy.hpp"

namespace gradwire {

/// The gradients of one all-reduce each, in launch order.
using TensorGroups = std::vector<std::vector<TensorId>>;

struct GroupedOptions {
  bool copies = true;           ///< each gradient is copied into its group's buffer by its hook
  bool after_backward = false;  ///< all groups are reduced after backward, not when complete
};

/// Fixed groups of gradients: an all-reduce a group, posted by the hook of its last gradient or
/// after backward; the optimizer waits for all. What compression systems put under themselves.
class Grouped final : public Strategy {
 public:
  /// @param groups  those of an iteration; every tensor is in exactly one.
  Grouped(std::function<TensorGroups(int iteration)> groups, const GroupedOptions& options,
          JobView job);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void start(int iteration);
  void reduce(std::size_t group, Operations& operations);

  std::function<TensorGroups(int iteration)> groups_of_;
  GroupedOptions options_;
  JobView job_;
  TensorGroups groups_;
  std::vector<std::size_t> group_of_;  ///< by tensor
  std::vector<int> missing_;           ///< by group
  std::vector<OperationId> in_flight_;
  OperationId posted_ = 0;
};

/// Elements of a merged group in ddl-benchmarks' runs with compressors: mgwfbp/horovod_mpi_cj.sh.
constexpr std::int64_t ddl_benchmarks_threshold = 67'108'864;

/// Walks tensors in reverse registration order and closes a group once it holds at least
/// `threshold` elements, the crossing tensor included (ddl-benchmarks,
/// mgwfbp/hv_distributed_optimizer.py:184-206). 0: one group a tensor.
[[nodiscard]] TensorGroups groups_by_elements(const JobView& job, std::int64_t threshold);

}  // namespace gradwire
