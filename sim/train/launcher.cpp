#include "sim/train/launcher.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace gradwire {
namespace {

/// Seconds of dense fp32 matrix products: at the peak times what linear layers reach of it, by the
/// GPU's file; a file without efficiencies counts at its peak.
double product_time(double flops, const GpuSpec& gpu) {
  const auto peak = gpu.peak_flops.find("fp32");
  if (flops == 0 || peak == gpu.peak_flops.end()) return 0;
  double share = 1;
  if (const auto table = gpu.efficiency.find("fp32"); table != gpu.efficiency.end()) {
    const auto linear = table->second.find("linear");
    if (linear != table->second.end() && linear->second.forward.flops > 0) {
      share = linear->second.forward.flops;
    }
  }
  return flops / (peak->second * share);
}

ComputeItem layer_item(const ComputeProfile& profile, std::size_t index, Part part) {
  const auto& layer = profile.layers[index];
  const Seconds time = part == Part::forward ? layer.forward : layer.backward;
  return {.part = part,
          .seconds = time.count(),
          .slowdown = stated_slowdown(profile, layer.kind),
          .bound = bound_of(layer.kind),
          .layer = static_cast<int>(index)};
}

/// Where the host's time for the optimizer is known, its kernels run while the host goes on from
/// tensor to tensor.
void append_optimizer(std::vector<LaunchStep>& script, const ComputeProfile& profile) {
  const bool known = profile.optimizer_launch.has_value();
  script.push_back({.host = known ? 0 : profile.host_launch.count(),
                    .item = optimizer_item(profile, 1),
                    .name = "optimizer",
                    .hooks = {}});
  if (!known) return;
  script.push_back({.host = profile.optimizer_launch->count(),
                    .item = {.part = Part::host, .device = false},
                    .name = "optimizer",
                    .hooks = {}});
}

}  // namespace

std::optional<double> stated_slowdown(const ComputeProfile& profile, const std::string& kind) {
  const auto entry = profile.overlap.find(kind);
  return entry == profile.overlap.end() ? std::nullopt : std::optional(entry->second);
}

ComputeItem optimizer_item(const ComputeProfile& profile, double share) {
  return {.part = Part::optimizer,
          .seconds = share * profile.optimizer.count(),
          .slowdown = stated_slowdown(profile, "optimizer"),
          .bound = bound_of("optimizer")};
}

std::vector<LaunchStep> launch_script(const ComputeProfile& profile, int micro_batches,
                                      bool optimizer) {
  const double between = profile.between_iterations().count();
  const auto hooks = gradients_by_layer(profile);
  std::vector<LaunchStep> script;
  // Loss, zeroing of gradients and host gaps: the host launches nothing, the device has nothing to
  // do.
  script.push_back({.item = {.part = Part::host, .seconds = between, .device = false},
                    .name = "between iterations",
                    .hooks = {}});
  for (int micro = 0; micro < micro_batches; ++micro) {
    for (std::size_t l = 0; l < profile.layers.size(); ++l) {
      const bool first = micro == 0 && l == 0;
      script.push_back(
          {.host = (first ? between : 0) + profile.launches_of(profile.layers[l]).forward.count(),
           .item = layer_item(profile, l, Part::forward),
           .name = "forward " + profile.layers[l].name,
           .hooks = {},
           .micro_batch = micro});
    }
    for (std::size_t l = profile.layers.size(); l-- > 0;) {
      script.push_back({.host = profile.launches_of(profile.layers[l]).backward.count(),
                        .item = layer_item(profile, l, Part::backward),
                        .name = "backward " + profile.layers[l].name,
                        .hooks = hooks[l],
                        .micro_batch = micro,
                        .backward_done = l == 0});
    }
  }
  if (optimizer) append_optimizer(script, profile);
  script.push_back({.item = {.type = ComputeItem::Type::end}, .name = "end", .hooks = {}});
  return script;
}

double price(const DeviceWork& work, const GpuSpec& gpu) {
  const double streaming = static_cast<double>(work.traffic.count()) /
                           (gpu.memory_bandwidth.count() * gpu.memory_efficiency);
  return std::max(work.time.count() + work.kernels * gpu.kernel_overhead.count() +
                      std::max(streaming, product_time(work.flops, gpu)),
                  work.least.count());
}

}  // namespace gradwire
