#include "strategies/horovod/tensor_phases.hpp"

namespace gradwire {

void TensorPhases::add(const std::vector<TensorId>& tensors, const std::string& name, Seconds start,
                       Seconds end) {
  if (!on_ || end <= start) return;
  for (const TensorId tensor : tensors) {
    const auto last = last_.find(tensor);
    if (last != last_.end()) {
      TensorPhase& before = phases_[last->second];
      if (before.name == name && before.end == start) {
        before.end = end;
        continue;
      }
    }
    last_[tensor] = phases_.size();
    phases_.push_back({tensor, name, start, end});
  }
}

}  // namespace gradwire
