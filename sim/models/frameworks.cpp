#include "sim/models/frameworks.hpp"

#include <algorithm>
#include <cassert>

#include "sim/models/efficiencies.hpp"

namespace gradwire {
namespace {

std::string_view operator_class(const ModelLayer& layer, bool batch_norms) {
  const std::string_view work = work_class(layer);
  if (work == "norm") return batch_norms ? "batch_norm" : "layer_norm";
  const bool product = work == "linear" || work == "attention" || work == "flash_attention";
  if (layer.convolution || (is_matrix(work) && !product)) return "conv";
  return work;
}

const OperatorHost& host_of(const Framework& framework, std::string_view work) {
  const auto& operators = framework.operators;
  const auto found = std::ranges::find(operators, work, &OperatorHost::work);
  return found == operators.end() ? operators.back() : *found;
}

}  // namespace

const Framework* HostTables::find_framework(std::string_view name) const {
  const auto found = std::ranges::find(frameworks, name, &Framework::name);
  return found == frameworks.end() ? nullptr : &*found;
}

const OptimizerKind* HostTables::find_optimizer(std::string_view name) const {
  const auto found = std::ranges::find(optimizers, name, &OptimizerKind::name);
  return found == optimizers.end() ? nullptr : &*found;
}

bool compiles(const Framework& framework) {
  return framework.name == "pytorch-compile";
}

bool has_optimizer_steps(const Framework& framework) {
  return framework.update == Seconds{0};
}

LaunchTimes launches_of(const Framework& framework, const ModelLayer& layer,
                        const HostSetting& setting) {
  const OperatorHost& host = host_of(framework, operator_class(layer, setting.batch_norms));
  const auto called = [&](const LayerWork& work, Seconds first) {
    if (work.kernels == 0) return Seconds{0};
    return first + static_cast<double>(work.kernels - 1) * host.further;
  };
  LaunchTimes times = {.forward = called(layer.forward, host.forward),
                       .backward = called(layer.backward, host.backward)};
  const auto tensors = static_cast<double>(layer.parameters.size());
  times.backward += tensors * framework.gradient;
  const bool product = layer.convolution || is_matrix(work_class(layer));
  const double casts =
      (setting.half && product ? tensors : 0) + (setting.sums_in_fp32 && layer.casts > 0 ? 1 : 0);
  times.forward += casts * framework.cast.forward;
  times.backward += casts * framework.cast.backward;
  return times;
}

Seconds launch_of_optimizer(const Framework& framework, const OptimizerKind& optimizer,
                            StepForm step, int tensors) {
  assert(tensors >= 0);
  if (has_optimizer_steps(framework)) return host_time(optimizer, step, tensors);
  return static_cast<double>(tensors) * framework.update;
}

}  // namespace gradwire
