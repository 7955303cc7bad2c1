#include "sim/models/optimizers.hpp"

namespace gradwire {

double bytes_of(const OptimizerKind& optimizer, StepForm step) {
  return step == StepForm::fused ? optimizer.fused_bytes : optimizer.bytes_per_parameter;
}

Seconds host_time(const OptimizerKind& optimizer, StepForm step, int tensors) {
  const Seconds each = step == StepForm::loop      ? optimizer.loop
                       : step == StepForm::foreach ? optimizer.foreach_step
                                                   : optimizer.fused;
  return static_cast<double>(tensors) * each;
}

}  // namespace gradwire
