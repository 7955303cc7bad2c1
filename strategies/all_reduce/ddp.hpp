#pragma once

#include <optional>
#include <vector>

#include "strategies/all_reduce/ddp_options.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Walks tensors and closes a bucket once it holds at least its limit; the tensor that crosses is
/// in it. The last limit holds for all further buckets. A sparse gradient that Gloo gathers is one
/// of its own. Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
[[nodiscard]] std::vector<PlanGroup> assign_buckets(const JobView& job,
                                                    const std::vector<TensorId>& order,
                                                    const std::vector<Bytes>& limits);

/// PyTorch DistributedDataParallel: gradients are copied into buckets by their hooks, a bucket is
/// all-reduced when it is complete and all earlier ones have been launched (strict order), and the
/// optimizer waits for all buckets and the copies back. In the first iteration of a static graph
/// hooks only count, and all is reduced behind backward.
///
/// An optimizer in backward updates a bucket's parameters on a stream of its own as soon as the
/// bucket is reduced (optimizer_overlap_hooks.py, _apply_optim_in_backward_hook); its kernels take
/// the GPU from backward. join() adds two all-reduces of one number before forward, and where
/// buffers are broadcast a third one, which the host waits for, to find whose (_find_common_rank).
/// Ranks that have run out of inputs shadow the others (_DDPJoinHook.main_hook); that the last of
/// them broadcasts the model at the end comes once and is not modelled.
///
/// A ZeroRedundancyOptimizer that overlaps steps in communication hooks (ZeroOverlap), from the
/// iteration on that first_update() tells; before it parameters are not updated at all. It needs
/// NCCL: UnsupportedConfiguration without.
///
/// Until 1.8 a parameter that two modules share stands in the reducer's list with each of them: it
/// is copied and reduced twice, both times at its one gradient, and until buckets are rebuilt the
/// second place is in the bucket that goes first, for which all others wait (_ddp_init_helper;
/// pull requests 51929 and 53279 of 2021).
///
/// Source: torch/csrc/distributed/c10d/reducer.cpp (mark_variable_ready_dense, mark_bucket_ready,
/// finalize_backward, rebuild_buckets) and torch/nn/parallel/distributed.py of the releases named.
class Ddp final : public StepStrategy {
 public:
  Ddp(const DdpOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);
  /// The knobs of `read`, but for who updates the parameters and join().
  static StrategyMaker read_reducer(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Holding holding() const override;
  [[nodiscard]] Phasing phasing() const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  [[nodiscard]] std::vector<PlanGroup> buckets_of(int iteration) const;
  void arrive(TensorId place);
  void launch(std::size_t index);
  void join();
  void broadcast_buffers();
  void copy_in(TensorId tensor);
  void update_beside(std::size_t bucket);
  void take_back();
  void finish_optimizer();
  /// A communication hook divides, not the reducer.
  [[nodiscard]] bool hook_divides() const { return options_.comm_hook || zero_.has_value(); }
  [[nodiscard]] bool broadcasts() const;
  /// The tensors of a bucket as the job numbers them.
  [[nodiscard]] std::vector<TensorId> tensors_in(const PlanGroup& bucket) const;
  /// Bytes of the buffers of each type. Batch norms', unless their bytes say otherwise; then of one
  /// type: assumed.
  [[nodiscard]] std::vector<Bytes> buffer_types() const;

  DdpOptions options_;
  std::vector<TensorId> shared_;  ///< what stands in the list again, behind the job's tensors
  JobView listed_;                ///< the job, its tensors as the reducer lists them
  GradientGroups buckets_;
  std::vector<OperationId> reduced_;    ///< by bucket, of this iteration
  std::vector<OperationId> updated_;    ///< by bucket: flag of its optimizer in backward
  bool delayed_ = false;                ///< all of this iteration is reduced behind backward
  std::optional<OperationId> counted_;  ///< all-reduce of join() that backward waits for
  std::optional<ZeroOverlap> zero_;
  bool overlaps_ = false;  ///< this iteration's step is in the hooks
};

}  // namespace gradwire
