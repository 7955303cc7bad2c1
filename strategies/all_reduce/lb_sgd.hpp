#pragma once

#include <optional>

#include "strategies/knobs.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Knobs of last-batch SGD under their own names.
struct LbSgdOptions {
  int warmup_steps = 0;  ///< steps of synchronous training before the first stale one
};

/// Last-batch SGD: the all-reduce of one iteration's whole gradient buffer runs beside the next
/// iteration's forward and backward pass; the optimizer takes gradients that are one step old. An
/// iteration takes as long as its computation or its all-reduce, whichever is longer.
///
/// In step(), per tensor: the reduced gradient in the buffer is divided by the world size and
/// swapped with the fresh one (clone, copy, copy). With accumulation all micro-batches hide the
/// all-reduce. On one rank nothing happens.
///
/// Source: lzhangbv/last-batch-ddl, opt/fpdp.py of d24a357 (step, _update_grad_with_buffer,
/// _swap_tensors, _allreduce_grad).
class LbSgd final : public SharedStepStrategy {
 public:
  LbSgd(const LbSgdOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override { return {.steady_from = options_.warmup_steps}; }

 private:
  void begin(int iteration, WorkerId /*worker*/) override { iteration_ = iteration; }
  void finish(WorkerId worker) override;
  void reduce_now();
  void swap_with_last();
  void copy_tensors(int kernels_each, const char* label);
  OperationId all_reduce();

  LbSgdOptions options_;
  PlanGroup all_;
  int iteration_ = 0;
  std::optional<OperationId> in_flight_;  ///< the last iteration's all-reduce
};

}  // namespace gradwire
