#include "sim/models/derived_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/models/efficiencies.hpp"
#include "sim/models/mixed_precision.hpp"
#include "sim/models/products.hpp"

namespace gradwire {
namespace {

/// A GPU, a batch and a type: what the times of a profile hold for.
struct Setting {
  const GpuSpec& gpu;
  int batch = 0;
  std::string dtype;
};

/// Elements that a convolution or a matrix product moves, from its weights and FLOPs: positions are
/// flops / (2 x weights), and each reads its inputs and writes its outputs. A stride reads more.
struct MatrixTraffic {
  double activations = 0;
  double weights = 0;
};
MatrixTraffic traffic_of(const LayerProfile& layer) {
  const bool known =
      layer.flops > 0 && !layer.parameters.empty() && layer.parameters.front().shape.size() >= 2;
  if (!known) return {};
  const ParameterSpec& weight = layer.parameters.front();
  const auto weights = static_cast<double>(weight.elements());
  const auto outputs = static_cast<double>(weight.shape[0]);
  const auto kernel =
      weight.shape.size() == 4 ? static_cast<double>(weight.shape[2] * weight.shape[3]) : 1.0;
  // Grouped: every output channel sees `shape[1]` inputs, but all groups together see as many as
  // there are outputs.
  const double inputs = layer.kind == "grouped_conv" ? outputs : weights / (outputs * kernel);
  const double positions = layer.flops / (2 * weights);
  return {positions * (inputs + outputs), weights};
}

/// Kernels of a layer in one direction: a matrix product has two backward (input, weights).
int kernels_of(std::string_view work_class, Direction direction) {
  return is_matrix(work_class) && direction == Direction::backward ? 2 : 1;
}

/// How a layer's kernels may compute it for `batch`, from its weights and FLOPs of
/// `recorded_batch`: a profile tells no stride, and images are taken as square.
std::vector<KernelPlan> plans_for(const LayerProfile& layer, int recorded_batch, int batch,
                                  Direction direction, bool matrix_units) {
  const MatrixTraffic traffic = traffic_of(layer);
  if (traffic.weights <= 0 || layer.kind == "grouped_conv") return {};
  const std::vector<std::int64_t>& weight = layer.parameters.front().shape;
  const double positions = layer.flops / (2 * traffic.weights * recorded_batch);  // of a sample
  ModelLayer counted;
  counted.forward.flops = layer.flops;
  counted.backward.flops = 2 * layer.flops;
  if (weight.size() == 4) {
    const auto side = std::max<std::int64_t>(1, std::llround(std::sqrt(positions)));
    counted.convolution = ConvolutionShape{.in_channels = weight[1],
                                           .out_channels = weight[0],
                                           .kernel_height = weight[2],
                                           .kernel_width = weight[3],
                                           .out_height = side,
                                           .out_width = side};
  } else {
    counted.product = MatrixShape{.rows = std::max<std::int64_t>(1, std::llround(positions)),
                                  .columns = weight[0],
                                  .depth = weight[1]};
  }
  return plans_of(counted, batch, direction, matrix_units);
}

/// What kernel_time() gives for a matrix layer whose FLOPs are those of batch `recorded_batch`.
Seconds kernels_of_type(const LayerProfile& layer, int recorded_batch, const Setting& setting,
                        Direction direction) {
  const auto name = work_class(layer);
  const MatrixTraffic traffic = traffic_of(layer);
  const double growth = static_cast<double>(setting.batch) / recorded_batch;
  const int passes = kernels_of(name, direction);
  const double elements = passes * (growth * traffic.activations + traffic.weights);
  return kernel_time(
      {.work_class = name,
       .flops = passes * growth * layer.flops,
       .bytes = elements * activation_bytes(setting.dtype),
       .kernels = passes,
       .plans =
           plans_for(layer, recorded_batch, setting.batch, direction,
                     has_matrix_units(setting.gpu, executed_dtype(setting.gpu, setting.dtype)))},
      setting.gpu, setting.dtype, direction);
}

Seconds matrix_time(const LayerProfile& layer, int recorded_batch, const Setting& setting,
                    Direction direction) {
  return fastest_permitted(work_class(layer), setting.gpu, setting.dtype, direction,
                           [&](const std::string& dtype) {
                             return kernels_of_type(layer, recorded_batch,
                                                    {setting.gpu, setting.batch, dtype}, direction);
                           });
}

/// The time of a layer that memory bounds: what it moved within `time` moves at the other rate.
Seconds memory_time(Seconds time, std::string_view name, const Setting& from, const Setting& to,
                    Direction direction) {
  const auto seconds_a_byte = [&](const Setting& setting) {
    const Seconds with = kernel_time({.work_class = name, .bytes = 1, .kernels = 0}, setting.gpu,
                                     setting.dtype, direction);
    return with.count() * activation_bytes(setting.dtype) * setting.batch;
  };
  const Seconds moving = std::max(Seconds{0}, time - from.gpu.kernel_overhead);
  const double ratio = seconds_a_byte(to) / seconds_a_byte(from);
  const Seconds fixed = std::min(time, from.gpu.kernel_overhead);
  return ratio * moving + (from.gpu.kernel_overhead > Seconds{0}
                               ? (to.gpu.kernel_overhead / from.gpu.kernel_overhead) * fixed
                               : fixed);
}

Seconds derived_time(const LayerProfile& layer, Seconds time, const Setting& from,
                     const Setting& to, Direction direction) {
  if (time <= Seconds{0}) return time;
  const auto name = work_class(layer);
  if (!is_matrix(name)) return memory_time(time, name, from, to, direction);
  if (layer.flops > 0) {
    const double ratio = matrix_time(layer, from.batch, to, direction) /
                         matrix_time(layer, from.batch, from, direction);
    return ratio * time;
  }
  // FLOPs unknown: as if bound by the peak alone.
  const auto seconds_a_flop = [&](const Setting& setting) {
    return setting.batch * kernel_time({.work_class = name, .flops = 1, .kernels = 0}, setting.gpu,
                                       setting.dtype, direction)
                               .count();
  };
  return (seconds_a_flop(to) / seconds_a_flop(from)) * time;
}

/// Times of every layer, and the iteration around them. Unattributed time is the host's and stays,
/// where it is no wait for launches.
void derive(ComputeProfile& profile, const Setting& from, const Setting& to) {
  const bool launch_bound = profile.iteration <= profile.launch_bound();
  const Seconds host = launch_bound ? Seconds{0} : profile.unattributed();
  const Seconds idle = std::max(Seconds{0}, profile.iteration - profile.gpu_busy);
  for (LayerProfile& layer : profile.layers) {
    layer.forward = derived_time(layer, layer.forward, from, to, Direction::forward);
    layer.backward = derived_time(layer, layer.backward, from, to, Direction::backward);
    layer.flops *= static_cast<double>(to.batch) / from.batch;
    for (ParameterSpec& parameter : layer.parameters) parameter.ready.reset();
  }
  const auto bandwidth = [](const GpuSpec& gpu) {
    return gpu.memory_bandwidth.count() * gpu.memory_efficiency;
  };
  profile.optimizer = (bandwidth(from.gpu) / bandwidth(to.gpu)) * profile.optimizer;
  profile.optimizer += cast_time(profile.parameter_count(), to.gpu, to.dtype) -
                       cast_time(profile.parameter_count(), from.gpu, from.dtype);
  profile.optimizer = std::max(Seconds{0}, profile.optimizer);
  profile.gpu = to.gpu.name;
  profile.batch_per_gpu = to.batch;
  profile.dtype = to.dtype;
  const Seconds device = profile.forward() + profile.backward() + profile.optimizer;
  profile.iteration = std::max(device + host, profile.launch_bound());
  profile.gpu_busy = std::min(profile.iteration, std::max(device, profile.iteration - idle));
}

/// The GPU's name, with what it keeps of its clock.
std::string at_clock(const GpuSpec& gpu) {
  if (gpu.clock_share == 1) return gpu.name;
  return fmt::format("{} at {:.3g} % of its clock", gpu.name, 100 * gpu.clock_share);
}

/// Says what was done, once a derivation.
void note(ComputeProfile& profile, const std::string& what, double error) {
  ProfileSource& source = profile.source;
  if (source.kind != "derived") {
    source.notes = fmt::format("derived from a profile of kind {}{}{}: ", source.kind,
                               source.file.empty() ? "" : ", ", source.file);
    source.kind = "derived";
    source.tool = "Gradwire";
  } else {
    source.notes += ", then ";
  }
  source.notes += what;
  profile.model_error = together(profile.model_error, {error, error});
}

}  // namespace

ComputeProfile derived_for_gpu(ComputeProfile profile, const GpuSpec& from, const GpuSpec& to) {
  assert(supports(from, profile.dtype) && supports(to, profile.dtype));
  if (from.name == to.name && from.clock_share == to.clock_share) return profile;
  const Setting here{from, profile.batch_per_gpu, profile.dtype};
  const Setting there{to, profile.batch_per_gpu, profile.dtype};
  derive(profile, here, there);
  note(profile, fmt::format("from {} to {} by roofline per layer", at_clock(from), at_clock(to)),
       to.errors.other_gpu);
  return profile;
}

ComputeProfile derived_for_batch(ComputeProfile profile, const GpuSpec& gpu, int batch) {
  assert(batch >= 1);
  const int recorded = profile.batch_per_gpu;
  if (batch == recorded) return profile;
  derive(profile, {gpu, recorded, profile.dtype}, {gpu, batch, profile.dtype});
  note(profile, fmt::format("from batch {} to {} by roofline per layer", recorded, batch),
       gpu.errors.other_batch);
  return profile;
}

ComputeProfile interpolated_for_batch(const ComputeProfile& one, const ComputeProfile& other,
                                      const GpuSpec& gpu, int batch) {
  assert(one.layers.size() == other.layers.size());
  assert(one.batch_per_gpu != other.batch_per_gpu && batch >= 1);
  const double share =
      static_cast<double>(batch - one.batch_per_gpu) / (other.batch_per_gpu - one.batch_per_gpu);
  const auto between = [&](Seconds a, Seconds b) {
    return std::max(Seconds{0}, (1 - share) * a + share * b);
  };
  ComputeProfile profile = one;
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {
    LayerProfile& layer = profile.layers[l];
    layer.forward = between(layer.forward, other.layers[l].forward);
    layer.backward = between(layer.backward, other.layers[l].backward);
    layer.flops *= static_cast<double>(batch) / one.batch_per_gpu;
    for (ParameterSpec& parameter : layer.parameters) parameter.ready.reset();
  }
  profile.optimizer = between(one.optimizer, other.optimizer);
  const Seconds parts = profile.forward() + profile.backward() + profile.optimizer;
  profile.iteration = std::max(parts, between(one.iteration, other.iteration));
  profile.gpu_busy = std::min(profile.iteration, between(one.gpu_busy, other.gpu_busy));
  profile.batch_per_gpu = batch;
  const bool inside = share >= 0 && share <= 1;
  note(profile,
       fmt::format("batch {} on the line through batches {} and {}", batch, one.batch_per_gpu,
                   other.batch_per_gpu),
       inside ? gpu.errors.between_batches : gpu.errors.other_batch);
  return profile;
}

ComputeProfile derived_for_dtype(ComputeProfile profile, const GpuSpec& gpu,
                                 const std::string& dtype) {
  assert(supports(gpu, profile.dtype) && supports(gpu, dtype));
  if (dtype == profile.dtype) return profile;
  const std::string recorded = profile.dtype;
  derive(profile, {gpu, profile.batch_per_gpu, recorded}, {gpu, profile.batch_per_gpu, dtype});
  note(profile, fmt::format("from {} to {} by roofline per layer", recorded, dtype),
       gpu.errors.other_dtype);
  return profile;
}

}  // namespace gradwire
