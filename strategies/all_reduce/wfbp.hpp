#pragma once

#include <utility>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// Wait-free backpropagation: one all-reduce a tensor, in place, as soon as its gradient is ready;
/// the optimizer waits for all.
///
/// Source: Poseidon (Zhang et al., ATC 2017), section 3.1; ddl-benchmarks
/// mgwfbp/hv_distributed_optimizer.py:184-206 with the threshold 0 (no merging, no copies).
class Wfbp final : public Strategy {
 public:
  explicit Wfbp(JobView job) : job_(std::move(job)) {}
  /// With `over: horovod` the same groups travel through Horovod's thread (MergedHorovod), as
  /// ddl-benchmarks ran them.
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  JobView job_;
  std::vector<OperationId> in_flight_;
  OperationId posted_ = 0;
};

}  // namespace gradwire
