#pragma once

#include <vector>

#include "strategies/horovod/horovod_queue.hpp"

namespace gradwire {

/// The optimizer of MG-WFBP and ddl-benchmarks: fixed groups of gradients over a Horovod that does
/// not fuse. A gradient is copied into its group's buffer in its hook, on the compute stream (not
/// at all when every group is one tensor); the last one of a group hands the buffer to Horovod;
/// step() waits for all. The gradients are views of the buffers, so nothing is copied back. A job
/// of one rank has no hooks.
///
/// Source: ddl-benchmarks mgwfbp/hv_distributed_optimizer.py:483-502, synchronize.
class MergedHorovod final : public Strategy, public TensorTimeline {
 public:
  /// @param groups  of tensors, each tensor once, in the order in which they will be complete.
  MergedHorovod(const HorovodOptions& options, const JobView& job,
                std::vector<std::vector<TensorId>> groups);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return queue_.collectives();
  }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  void record(bool on_gpu) override { queue_.record(on_gpu); }
  [[nodiscard]] const std::vector<TensorPhase>& phases() const override { return queue_.phases(); }

 private:
  struct Group {
    std::vector<TensorId> tensors;
    Bytes size{0};
    int missing = 0;
  };
  void hook(Seconds now, TensorId tensor);
  void count(std::size_t arrived);

  JobView job_;
  Seconds hook_time_;
  HorovodQueue queue_;
  Poster poster_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  ///< by tensor
  std::size_t outstanding_ = 0;
  OperationId all_reduced_ = -1;  ///< flag of this iteration
};

/// All gradients in one group, in gradient order.
[[nodiscard]] std::vector<std::vector<TensorId>> one_group(const JobView& job);
/// A group for each gradient, in gradient order.
[[nodiscard]] std::vector<std::vector<TensorId>> a_group_each(const JobView& job);

}  // namespace gradwire
