#include "sim/core/compute_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <numeric>

namespace gradwire {
namespace {

Seconds sum(const ComputeProfile& profile, Seconds LayerProfile::*direction) {
  Seconds total;
  for (const auto& layer : profile.layers) total += layer.*direction;
  return total;
}

}  // namespace

std::int64_t ParameterSpec::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t ParameterSpec::gradient_elements() const {
  return sparse_rows == 0 ? elements() : elements() / shape.front() * sparse_rows;
}

std::int64_t elements_of(std::span<const ParameterSpec> parameters) {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : parameters) sum += parameter.elements();
  return sum;
}

Seconds ComputeProfile::forward() const {
  return sum(*this, &LayerProfile::forward);
}

Seconds ComputeProfile::backward() const {
  return sum(*this, &LayerProfile::backward);
}

Seconds ComputeProfile::unattributed() const {
  return std::max(Seconds{0}, iteration - forward() - backward() - step());
}

LaunchTimes ComputeProfile::launches_of(const LayerProfile& layer) const {
  return layer.launches.value_or(LaunchTimes{host_launch, host_launch});
}

Seconds ComputeProfile::launch_of_optimizer() const {
  return optimizer_launch.value_or(host_launch);
}

Seconds ComputeProfile::launch_bound(int micro_batches) const {
  Seconds launched;
  Seconds ended;
  const auto run = [&](Seconds launch, Seconds duration) {
    launched += launch;
    ended = std::max(ended, launched) + duration;
  };
  for (int micro = 0; micro < micro_batches; ++micro) {
    for (const auto& layer : layers) run(launches_of(layer).forward, layer.forward);
    for (std::size_t layer = layers.size(); layer-- > 0;) {
      run(launches_of(layers[layer]).backward, layers[layer].backward);
    }
  }
  if (!optimizer_launch) {
    run(host_launch, optimizer);
    return ended;
  }
  // Its kernels run while the host goes on from tensor to tensor.
  const Seconds begun = std::max(ended, launched);
  if (unscale) return begun + *unscale + std::max(optimizer, *optimizer_launch);
  return std::max(begun + optimizer, launched + *optimizer_launch);
}

Seconds ComputeProfile::between_iterations() const {
  return std::max(Seconds{0}, iteration - launch_bound());
}

Seconds ComputeProfile::iteration_of(int micro_batches) const {
  return between_iterations() + launch_bound(micro_batches);
}

std::int64_t ComputeProfile::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& layer : layers) count += elements_of(layer.parameters);
  return count;
}

std::int64_t ComputeProfile::gradient_elements() const {
  std::int64_t count = 0;
  for (const auto& layer : layers) {
    for (const ParameterSpec& parameter : layer.parameters) count += parameter.gradient_elements();
  }
  return count;
}

int ComputeProfile::tensor_count() const {
  std::size_t count = 0;
  for (const auto& layer : layers) count += layer.parameters.size();
  return static_cast<int>(count);
}

std::vector<TensorInfo> tensors_of(const ComputeProfile& profile) {
  std::vector<TensorInfo> tensors;
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {
    for (const auto& parameter : profile.layers[l].parameters) {
      tensors.push_back({parameter.name, parameter.elements(), static_cast<int>(l), parameter.shape,
                         parameter.shared, parameter.sparse_rows});
    }
  }
  if (profile.registration.empty()) return tensors;
  std::vector<TensorInfo> registered;
  registered.reserve(tensors.size());
  for (const int position : profile.registration) {
    registered.push_back(tensors[static_cast<std::size_t>(position)]);
  }
  return registered;
}

std::vector<std::vector<TensorId>> gradients_by_layer(const ComputeProfile& profile) {
  std::vector<std::vector<TensorId>> gradients(profile.layers.size());
  const auto tensors = tensors_of(profile);
  std::size_t latest = profile.layers.size();  // backward runs from the last layer to the first
  for (const TensorId id : profile.gradient_order) {
    const auto layer = static_cast<std::size_t>(tensors[static_cast<std::size_t>(id)].layer);
    latest = profile.one_executable ? 0 : std::min(latest, layer);
    gradients[latest].push_back(id);
  }
  return gradients;
}

ComputeProfile scaled_to(ComputeProfile profile, Seconds iteration) {
  assert(profile.iteration > Seconds{0} && iteration > Seconds{0});
  const double factor = iteration / profile.iteration;
  profile.iteration = iteration;
  for (Seconds* time : {&profile.gpu_busy, &profile.optimizer, &profile.host_launch}) {
    *time = factor * *time;
  }
  if (profile.optimizer_launch) profile.optimizer_launch = factor * *profile.optimizer_launch;
  if (profile.unscale) profile.unscale = factor * *profile.unscale;
  for (auto& layer : profile.layers) {
    layer.forward = factor * layer.forward;
    layer.backward = factor * layer.backward;
    if (layer.launches) {
      layer.launches =
          LaunchTimes{factor * layer.launches->forward, factor * layer.launches->backward};
    }
    for (auto& parameter : layer.parameters) {
      if (parameter.ready) parameter.ready = factor * *parameter.ready;
    }
  }
  profile.source.notes +=
      fmt::format("{}times multiplied by {:.4f} for an iteration of {:.6g} ms",
                  profile.source.notes.empty() ? "" : "; ", factor, iteration.count() * 1e3);
  return profile;
}

std::vector<TensorId> reverse_registration_order(int tensors) {
  std::vector<TensorId> order(static_cast<std::size_t>(tensors));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

}  // namespace gradwire
