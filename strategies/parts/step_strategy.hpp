#pragma once

#include <utility>

#include "strategies/parts/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// A strategy that exchanges once an optimizer step: deals the events to the functions below, which
/// post what they ask for.
class StepStrategy : public Strategy {
 public:
  StepStrategy(const StepStrategy&) = delete;  // what follows an operation points into it
  StepStrategy& operator=(const StepStrategy&) = delete;

  Operations on_event(Seconds now, const Event& event) final;

 protected:
  explicit StepStrategy(JobView job) : job_(std::move(job)) {}

  /// Does it anything? Else no event is looked at.
  [[nodiscard]] virtual bool active() const { return true; }
  /// IterationStart.
  virtual void begin(int /*iteration*/, WorkerId /*worker*/) {}
  /// ForwardStart of a step's first micro-batch.
  virtual void forward(int /*layer*/, WorkerId /*worker*/) {}
  /// HookFired of a step's last micro-batch: the earlier ones only accumulate.
  virtual void gradient(TensorId /*tensor*/, WorkerId /*worker*/) {}
  /// BackwardDone of a step's last micro-batch.
  virtual void finish(WorkerId /*worker*/) {}
  /// OperationDone.
  virtual void ended(OperationId operation) { poster_.done(operation); }

  JobView job_;
  Poster poster_;
  Seconds now_{};  ///< of the event
};

/// One that all ranks of a job with several take part in.
class SharedStepStrategy : public StepStrategy {
 protected:
  using StepStrategy::StepStrategy;
  [[nodiscard]] bool active() const override { return job_.world_size > 1; }
};

}  // namespace gradwire
