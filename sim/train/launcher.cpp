#include "sim/train/launcher.hpp"

#include <algorithm>
#include <set>

namespace gradwire {
namespace {

/// Seconds of dense fp32 matrix products: at the peak times what linear layers reach of it, by the
/// GPU's file; a file without efficiencies counts at its peak.
double product_time(double flops, const GpuSpec& gpu) {
  if (flops == 0 || !gpu.peak_flops.contains("fp32")) return 0;
  double share = 1;
  if (const auto table = gpu.efficiency.find("fp32"); table != gpu.efficiency.end()) {
    const auto linear = table->second.find("linear");
    if (linear != table->second.end() && linear->second.forward.flops > 0) {
      share = linear->second.forward.flops;
    }
  }
  return flops / (gpu.sustained_flops("fp32") * share);
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

void append_pass(std::vector<LaunchStep>& script, const ComputeProfile& profile,
                 const ComputePass& pass, const std::vector<std::vector<TensorId>>& hooks) {
  for (int i = pass.first_layer; i < pass.end_layer; ++i) {
    const bool forward = pass.part == Part::forward;
    const auto l =
        static_cast<std::size_t>(forward ? i : pass.end_layer - 1 - (i - pass.first_layer));
    const LayerProfile& layer = profile.layers[l];
    const LaunchTimes launches = profile.launches_of(layer);
    script.push_back({.host = (forward ? launches.forward : launches.backward).count(),
                      .item = layer_item(profile, l, pass.part),
                      .name = (forward ? "forward " : "backward ") + layer.name,
                      .hooks = forward ? std::vector<TensorId>() : hooks[l],
                      .micro_batch = pass.micro_batch});
  }
}

/// The host has waited for the device, or for the gradients: it launches the step only now.
void append_late_optimizer(std::vector<LaunchStep>& script, const ComputeProfile& profile,
                           Seconds delay) {
  if (delay > Seconds{0}) {
    script.push_back({.item = {.part = Part::host, .seconds = delay.count(), .device = false},
                      .name = "sees that gradients are there",
                      .hooks = {}});
  }
  if (profile.unscale) {
    script.push_back({.item = unscale_item(profile, 1), .name = "unscale gradients", .hooks = {}});
  }
  script.push_back({.item = optimizer_item(profile, 1), .name = "optimizer", .hooks = {}});
  // Its kernels run while the host launches them: what of that is left when they have ended.
  ComputeItem rest = late_launch_item(profile, 1);
  rest.seconds = std::max(0.0, rest.seconds - profile.optimizer.count());
  script.push_back({.item = rest, .name = "optimizer", .hooks = {}});
}

/// Where the host's time for the optimizer is known, its kernels run while the host goes on from
/// tensor to tensor.
void append_optimizer(std::vector<LaunchStep>& script, const ComputeProfile& profile,
                      std::optional<Seconds> late_step) {
  if (profile.executor) late_step.reset();
  if (profile.unscale || late_step) {
    append_late_optimizer(script, profile, late_step.value_or(Seconds{0}));
    return;
  }
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

/// REQUIRES: not a pass.
Communication communication_of(const ProgramStep& step) {
  if (const auto* collective = std::get_if<GroupCollective>(&step)) return *collective;
  if (const auto* send = std::get_if<Send>(&step)) return *send;
  return std::get<Receive>(step);
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

ComputeItem unscale_item(const ComputeProfile& profile, double share) {
  return {.part = Part::optimizer,
          .seconds = share * profile.unscale->count(),
          .slowdown = stated_slowdown(profile, "optimizer"),
          .bound = bound_of("optimizer")};
}

ComputeItem late_launch_item(const ComputeProfile& profile, double share) {
  const double launch = share * profile.launch_of_optimizer().count();
  return {.part = Part::host, .seconds = std::max(launch_call, launch), .device = false};
}

std::vector<LaunchStep> launch_script(const ComputeProfile& profile, const Program& program,
                                      bool optimizer, std::optional<Seconds> late_step) {
  const double between = profile.between_iterations().count();
  std::vector<LaunchStep> script;
  // Loss, zeroing of gradients and host gaps: the host launches nothing, the device has nothing to
  // do.
  script.push_back({.item = {.part = Part::host, .seconds = between, .device = false},
                    .name = "between iterations",
                    .hooks = {}});
  const auto hooks = gradients_by_layer(profile);
  for (const ProgramStep& step : program) {
    if (const auto* pass = std::get_if<ComputePass>(&step)) {
      append_pass(script, profile, *pass, hooks);
    } else {
      LaunchStep& last = script.emplace_back();
      last.communication = communication_of(step);
    }
  }
  const auto first = std::ranges::find(script, Part::forward,
                                       [](const LaunchStep& step) { return step.item.part; });
  if (first != script.end()) first->host += between;
  std::set<int> done;
  std::for_each(script.rbegin(), script.rend(), [&](LaunchStep& step) {
    step.backward_done = step.item.part == Part::backward && done.insert(step.micro_batch).second;
  });
  if (optimizer) append_optimizer(script, profile, late_step);
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
