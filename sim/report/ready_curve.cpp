#include "sim/report/ready_curve.hpp"

namespace gradwire {

std::vector<ReadyStep> ready_curve(const ComputeProfile& profile) {
  const auto tensors = tensors_of(profile);
  const auto gradients = gradients_by_layer(profile);
  std::vector<ReadyStep> curve;
  ReadyStep step;
  for (std::size_t layer = profile.layers.size(); layer-- > 0;) {
    step.time += profile.layers[layer].backward;
    if (gradients[layer].empty()) continue;
    step.new_elements = 0;
    for (const TensorId id : gradients[layer]) {
      step.new_elements += tensors[static_cast<std::size_t>(id)].elements;
    }
    step.elements += step.new_elements;
    step.tensors += static_cast<int>(gradients[layer].size());
    step.layer = profile.layers[layer].name;
    curve.push_back(step);
  }
  return curve;
}

std::vector<Seconds> gradient_ready_times(const ComputeProfile& profile) {
  std::vector<Seconds> times(tensors_of(profile).size());
  const auto gradients = gradients_by_layer(profile);
  Seconds now;
  for (std::size_t layer = profile.layers.size(); layer-- > 0;) {
    now += profile.layers[layer].backward;
    for (const TensorId id : gradients[layer]) times[static_cast<std::size_t>(id)] = now;
  }
  return times;
}

}  // namespace gradwire
