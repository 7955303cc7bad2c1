#pragma once

#include <vector>

#include "strategies/horovod/horovod_queue.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// The optimizer of MG-WFBP and ddl-benchmarks: fixed groups of gradients over a Horovod that does
/// not fuse. A gradient is copied into its group's buffer in its hook, on the compute stream (not
/// at all when every group is one tensor); the last one of a group hands the buffer to Horovod;
/// step() waits for all. The gradients are views of the buffers, so nothing is copied back. A job
/// of one rank has no hooks.
///
/// Source: ddl-benchmarks mgwfbp/hv_distributed_optimizer.py:483-502, synchronize.
class MergedHorovod final : public SharedStepStrategy, public TensorTimeline {
 public:
  /// @param groups  of tensors, each tensor once, in the order in which they will be complete.
  MergedHorovod(const HorovodOptions& options, const JobView& job, const TensorGroups& groups);

  [[nodiscard]] Traits traits() const override { return {.dynamic = true, .late_step = late_}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return queue_.collectives();
  }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override {
    return groups_.all();
  }
  void record(bool on_gpu) override { queue_.record(on_gpu); }
  [[nodiscard]] const std::vector<TensorPhase>& phases() const override { return queue_.phases(); }

 private:
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void ended(OperationId operation) override;

  Seconds hook_time_;
  std::optional<Seconds> late_;  ///< Traits::late_step
  HorovodQueue queue_;
  GradientGroups groups_;
  Outstanding reduced_;  ///< groups
};

}  // namespace gradwire
