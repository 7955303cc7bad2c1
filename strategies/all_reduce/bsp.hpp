#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// Bulk synchronous: every gradient is copied into one buffer by its hook, and the buffer is
/// all-reduced after the last of them; the optimizer waits for it.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206 with the threshold 536870912
/// (one group, copies in the hook, views instead of copies back).
class Bsp final : public Strategy {
 public:
  explicit Bsp(JobView job);
  /// With `over: horovod` the same groups travel through Horovod's thread (MergedHorovod), as
  /// ddl-benchmarks ran them.
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  JobView job_;
  PlanGroup all_;
  OperationId posted_ = 0;
};

}  // namespace gradwire
