#pragma once

#include "strategies/parts/layer_gates.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// A strategy that exchanges each tensor by itself, from when its gradient is there; a layer's next
/// forward pass waits for its own parameters only, and then updates them.
class LayerwiseStrategy : public StepStrategy {
 public:
  [[nodiscard]] Traits traits() const override {
    return {.dynamic = true, .forward_hooks = active(), .own_optimizer = active()};
  }

 protected:
  explicit LayerwiseStrategy(const JobView& job) : StepStrategy(job), gates_(job) {}

  /// The tensor's gradient is there. @param flag  to be raised when its parameter is up to date.
  virtual void exchange(TensorId tensor, OperationId flag) = 0;

  void forward(int layer, WorkerId /*worker*/) override { gates_.post(layer, poster_); }
  void gradient(TensorId tensor, WorkerId /*worker*/) override {
    const OperationId flag = poster_.post(Flag{job_.tensor(tensor).name});
    gates_.wait_for(tensor, flag);
    poster_.post(launch_marker("ready"), [this, tensor, flag] { exchange(tensor, flag); });
  }

 private:
  LayerGates gates_;
};

}  // namespace gradwire
