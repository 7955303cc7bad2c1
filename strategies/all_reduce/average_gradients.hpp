#pragma once

#include "strategies/knobs.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

struct AverageGradientsOptions {
  bool flatten = false;  ///< all gradients in one tensor, which is made and taken apart each step
  /// Of the launching thread, from one all-reduce of the loop to the next, over hosts.yaml's:
  /// Python of dist.all_reduce and its enqueueing. Assumed: as Horovod's hook.
  Seconds call_time{30e-6};
};

/// What programs without DistributedDataParallel do behind `loss.backward()`: gradients are
/// all-reduced one after the other in the order of `model.parameters()`, and divided by the ranks.
///
/// With async_op=False the compute stream waits for each all-reduce, and the next one for the
/// compute stream: none is beside another, and none begins before backward has ended. The host
/// waits for none: it launches on.
///
/// With `flatten` gradients are copied into one tensor, which is all-reduced and divided, and
/// copied back one by one. (The tensor itself is not counted in the memory.)
///
/// Source: PyTorch's tutorial "Writing Distributed Applications with PyTorch"
/// (intermediate/dist_tuto, average_gradients); torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
/// (WorkNCCL::synchronizeStream: ncclEndEvent_->block(currentStream)); mmcv's
/// mmcv/runner/dist_utils.py (allreduce_grads, _allreduce_coalesced: flatten).
class AverageGradients final : public StepStrategy {
 public:
  AverageGradients(const AverageGradientsOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void finish(WorkerId worker) override;
  void average(const PlanGroup& group);

  AverageGradientsOptions options_;
  std::vector<PlanGroup> groups_;
};

}  // namespace gradwire
