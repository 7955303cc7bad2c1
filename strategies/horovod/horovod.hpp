#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/horovod/horovod_autotune.hpp"
#include "strategies/horovod/horovod_queue.hpp"
#include "strategies/horovod/tuned_knobs.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Knobs of horovod.torch.DistributedOptimizer, beside the core's.
struct HorovodOptimizerOptions {
  HorovodOptions core;
  AutotuneOptions autotune{};  ///< on: it changes `core` for the job
  int groups = 0;  ///< gradients are handed over together in this many groups; 0: each by itself
  bool sparse_as_dense = false;  ///< of DistributedOptimizer
  /// Gradients of several micro-batches are handed over when the last backward is done.
  bool aggregation_helper = false;
};

/// Horovod's DistributedOptimizer for PyTorch: hooks hand gradients to the background thread
/// (HorovodQueue), step() waits for all of them on the host, which then launches the optimizer
/// (Traits::late_step). A job of one rank has no hooks.
///
/// Accumulation (backward_passes_per_step) is the job's grad_accumulation. TensorFlow's has a
/// helper whose all-reduces stand in a tf.cond, which begins when all gradients have been added up
/// (tensorflow/gradient_aggregation.py). Adasum reduces what the optimizer changed: the optimizer
/// runs tensor by tensor in the hooks. A sparse gradient travels as two all-gathers, of row indices
/// (int64) and of rows.
///
/// The groups that it forms depend on time; plan() tells those of an iteration whose hooks fire as
/// gradients come on the GPU. In a run the launcher thread is ahead of it, and groups are larger.
///
/// Autotune is done before the first iteration: what it predicts is the job that has been tuned.
/// A sample's score is what JobView::iteration_time says of steps_per_sample iterations (Horovod
/// takes the median of five such samples, which differ by noise); without it nothing is tuned.
///
/// Source: Horovod torch/optimizer.py and, below, HorovodQueue's.
class Horovod final : public SharedStepStrategy, public TensorTimeline, public TunedKnobs {
 public:
  /// @throws SimulationError when no matrix has the sparse name, and as HorovodReductions.
  Horovod(const HorovodOptimizerOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return queue_.exchanges(); }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override { return {.period = HorovodQueue::parts}; }
  void record(bool on_gpu) override { queue_.record(on_gpu); }
  [[nodiscard]] const std::vector<TensorPhase>& phases() const override { return queue_.phases(); }
  [[nodiscard]] std::string tuned() const override { return tuned_; }

 private:
  void begin(int iteration, WorkerId /*worker*/) override { queue_.begin(iteration); }
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void ended(OperationId operation) override;
  void take_adasum_step(const TensorInfo& tensor);
  [[nodiscard]] bool adasum() const;
  [[nodiscard]] bool sparse(TensorId tensor) const;
  [[nodiscard]] std::vector<HorovodRequest> requests_of(TensorId tensor) const;

  std::string tuned_;
  HorovodOptimizerOptions options_;
  HorovodQueue queue_;
  std::vector<int> group_of_;                           ///< by tensor, -1: none
  std::vector<int> group_size_;                         ///< by group
  std::vector<std::vector<HorovodRequest>> collected_;  ///< by group
  std::vector<HorovodRequest> aggregated_;              ///< that wait for the end of backward
  Outstanding reduced_;                                 ///< requests
};

}  // namespace gradwire
