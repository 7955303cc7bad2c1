#include "sim/train/launcher.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace gradwire {
namespace {

double slowdown_of(const ComputeProfile& profile, const std::string& kind) {
  const auto entry = profile.overlap.find(kind);
  return entry == profile.overlap.end() ? 1.0 : entry->second;
}

ComputeItem layer_item(const ComputeProfile& profile, std::size_t index, Part part) {
  const auto& layer = profile.layers[index];
  const Seconds time = part == Part::forward ? layer.forward : layer.backward;
  return {.part = part,
          .seconds = time.count(),
          .slowdown = slowdown_of(profile, layer.kind),
          .layer = static_cast<int>(index)};
}

}  // namespace

std::vector<LaunchStep> launch_script(const ComputeProfile& profile, int micro_batches) {
  const double launch = profile.host_launch.count();
  const auto hooks = gradients_by_layer(profile);
  std::vector<LaunchStep> script;
  // Loss, zeroing of gradients and host gaps: the device has nothing to do while the first kernels
  // are being launched.
  script.push_back(
      {.item = {.part = Part::host, .seconds = profile.unattributed().count(), .device = false},
       .name = "between iterations",
       .hooks = {}});
  for (int micro = 0; micro < micro_batches; ++micro) {
    for (std::size_t l = 0; l < profile.layers.size(); ++l) {
      script.push_back({.host = launch,
                        .item = layer_item(profile, l, Part::forward),
                        .name = "forward " + profile.layers[l].name,
                        .hooks = {}});
    }
    for (std::size_t l = profile.layers.size(); l-- > 0;) {
      script.push_back({.host = launch,
                        .item = layer_item(profile, l, Part::backward),
                        .name = "backward " + profile.layers[l].name,
                        .hooks = hooks[l],
                        .micro_batch = micro,
                        .backward_done = l == 0});
    }
  }
  script.push_back({.host = launch,
                    .item = {.part = Part::optimizer,
                             .seconds = profile.optimizer.count(),
                             .slowdown = slowdown_of(profile, "optimizer")},
                    .name = "optimizer",
                    .hooks = {}});
  script.push_back({.item = {.type = ComputeItem::Type::end}, .name = "end", .hooks = {}});
  return script;
}

double price(const DeviceWork& work, const GpuSpec& gpu) {
  const double streaming = static_cast<double>(work.traffic.count()) /
                           (gpu.memory_bandwidth.count() * gpu.memory_efficiency);
  return work.kernels * gpu.kernel_overhead.count() + streaming;
}

}  // namespace gradwire
