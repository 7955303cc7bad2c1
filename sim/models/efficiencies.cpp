#include "sim/models/efficiencies.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "sim/models/products.hpp"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, 13> matrix_classes = {
    "stem",         "conv1",           "conv3",          "conv3_strided", "conv_wide",
    "grouped_conv", "linear",          "linear_by_8",    "linear_by_4",   "linear_by_2",
    "attention",    "flash_attention", "cudnn_attention"};

constexpr std::string_view nhwc = "_nhwc";

std::string_view without_layout(std::string_view work_class) {
  if (work_class.ends_with(nhwc)) work_class.remove_suffix(nhwc.size());
  return work_class;
}

/// The class whose share counts where a table has none of this one; "" where there is none.
std::string_view broader_class(std::string_view work_class) {
  if (work_class.ends_with(nhwc)) return without_layout(work_class);
  if (work_class == "flash_attention") return "attention";
  if (work_class == "cudnn_attention") return "flash_attention";
  if (work_class.starts_with("linear_by_")) return "linear";
  return work_class.ends_with("_norm") ? "norm" : "";
}

/// From the kind alone, of a layer in a profile or one that the user has counted.
std::string_view class_without_shape(const std::string& kind,
                                     const std::vector<ParameterSpec>& parameters) {
  static constexpr std::array<std::string_view, 10> same = {
      "conv1", "conv3", "grouped_conv", "norm", "act", "add", "pool", "embed", "softmax", "other"};
  if (kind == "linear") return parameters.empty() ? "attention" : "linear";
  if (kind == "conv7") {
    const bool stem = !parameters.empty() && parameters.front().shape.size() == 4 &&
                      parameters.front().shape[1] <= stem_channels_max;
    return stem ? "stem" : "conv_wide";
  }
  const auto* found = std::find(same.begin(), same.end(), kind);
  return found == same.end() ? std::string_view("other") : *found;
}

/// nullptr where the table of the type has no such class.
const DirectedEfficiency* entry_of(std::string_view work_class, const GpuSpec& gpu,
                                   const std::string& dtype) {
  const auto table = gpu.efficiency.find(dtype);
  if (table == gpu.efficiency.end()) return nullptr;
  const auto entry = table->second.find(std::string(work_class));
  return entry == table->second.end() ? nullptr : &entry->second;
}

Efficiency efficiency_of(std::string_view work_class, const GpuSpec& gpu, const std::string& dtype,
                         Direction direction) {
  if (const DirectedEfficiency* entry = entry_of(work_class, gpu, dtype)) {
    return direction == Direction::forward ? entry->forward : entry->backward;
  }
  constexpr Efficiency unknown{1, 1};
  const std::string_view broader = broader_class(work_class);
  return broader.empty() ? unknown : efficiency_of(broader, gpu, dtype, direction);
}

/// amount / (rate x share), 0 where the share is 0: hidden.
double term(double amount, double rate, double share) {
  return share > 0 ? amount / (rate * share) : 0;
}

/// Bytes whose time from memory is that of the work's, of which an L2 cache gives some.
double bytes_of_memory(const KernelWork& work, const GpuSpec& gpu, double bandwidth) {
  if (work.cached <= 0) return work.bytes;
  return work.bytes - work.cached * (1 - bandwidth / gpu.l2.bandwidth.count());
}

/// Grouped convolutions stay on these units in every type (assumed).
const std::string fp32 = "fp32";
const std::string tf32 = "tf32";

}  // namespace

std::string_view work_class(const ModelLayer& layer) {
  if (layer.convolution) {
    const ConvolutionShape& shape = *layer.convolution;
    if (shape.groups > 1) {
      return shape.groups == shape.in_channels ? "depthwise_conv" : "grouped_conv";
    }
    if (shape.in_channels <= stem_channels_max) return "stem";
    if (shape.kernel_height == 1 && shape.kernel_width == 1) return "conv1";
    if (shape.kernel_height != 3 || shape.kernel_width != 3) return "conv_wide";
    return shape.stride == 1 ? "conv3" : "conv3_strided";
  }
  if (layer.fused_attention) return "flash_attention";
  if (layer.product) return layer.product->weight_operand ? "linear" : "attention";
  return class_without_shape(layer.kind, layer.parameters);
}

std::string_view work_class(const LayerProfile& layer) {
  return class_without_shape(layer.kind, layer.parameters);
}

std::string_view nhwc_class(std::string_view work_class) {
  const auto& known = work_classes();
  const auto found = std::ranges::find_if(known, [&](std::string_view name) {
    return name.ends_with(nhwc) && without_layout(name) == work_class;
  });
  return found == known.end() ? work_class : std::string_view(*found);
}

bool is_matrix(std::string_view work_class) {
  return std::ranges::find(matrix_classes, without_layout(work_class)) != matrix_classes.end();
}

double activation_bytes(std::string_view dtype) {
  return dtype == "fp16" || dtype == "bf16" ? 2 : 4;
}

std::string executed_dtype(const GpuSpec& gpu, const std::string& dtype) {
  return dtype == "tf32" && !gpu.peak_flops.contains("tf32") ? "fp32" : dtype;
}

bool supports(const GpuSpec& gpu, const std::string& dtype) {
  return gpu.peak_flops.contains(executed_dtype(gpu, dtype));
}

bool has_matrix_units(const GpuSpec& gpu, const std::string& dtype) {
  constexpr double packed = 2;  // operations of fp16 in the place of one of fp32
  const auto peak = [&](const char* name) {
    const auto found = gpu.peak_flops.find(name);
    return found == gpu.peak_flops.end() ? 0.0 : found->second;
  };
  if (dtype == "tf32" || dtype == "bf16" || dtype == "fp8") return peak(dtype.c_str()) > 0;
  return dtype == "fp16" && (peak("bf16") > 0 || peak("fp16") > packed * peak("fp32"));
}

Seconds fastest_permitted(std::string_view work_class, const GpuSpec& gpu, const std::string& dtype,
                          Direction direction,
                          const std::function<Seconds(const std::string& dtype)>& time_in) {
  const bool both = is_matrix(work_class) && executed_dtype(gpu, tf32) == tf32 &&
                    gpu.efficiency.contains(tf32) && gpu.efficiency.contains(fp32);
  if (!both) return time_in(dtype);
  if (work_class == "flash_attention") {
    const bool told_in_tf32 =
        entry_of(work_class, gpu, fp32) == nullptr && entry_of(work_class, gpu, tf32) != nullptr;
    return time_in(dtype == fp32 && told_in_tf32 ? tf32 : dtype);
  }
  const auto rate = [&](const std::string& type) {
    return efficiency_of(work_class, gpu, type, direction).flops * gpu.sustained_flops(type);
  };
  constexpr double near = 2;
  if (dtype != tf32 || near * rate(fp32) <= rate(tf32)) return time_in(dtype);
  return std::min(time_in(tf32), time_in(fp32));
}

Seconds kernel_time(const KernelWork& work, const GpuSpec& gpu, const std::string& dtype,
                    Direction direction) {
  assert(supports(gpu, dtype));
  const std::string executed = executed_dtype(gpu, dtype);
  const bool kept =
      work.work_class.ends_with(nhwc) && entry_of(work.work_class, gpu, executed) == nullptr;
  const bool product = kept && without_layout(work.work_class) == "conv1";
  Efficiency efficiency =
      efficiency_of(product ? "linear" : work.work_class, gpu, executed, direction);
  if (is_matrix(work.work_class) && kept && efficiency.memory > 0) {
    efficiency.memory = std::max(efficiency.memory, 1.0);
  }
  KernelTimer timer(work, gpu, executed);
  timer.set_flops(efficiency.flops);
  return timer.time(efficiency.memory, efficiency.channel);
}

KernelTimer::KernelTimer(const KernelWork& work, const GpuSpec& gpu, const std::string& executed)
    : work_(&work),
      is_matrix_(is_matrix(work.work_class)),
      multiprocessors_(gpu.multiprocessors),
      kernels_(gpu.kernels),
      bandwidth_(gpu.memory_bandwidth.count() * gpu.memory_efficiency),
      bytes_(bytes_of_memory(work, gpu, bandwidth_)),
      launches_(static_cast<double>(work.kernels) * gpu.kernel_overhead) {
  if (!is_matrix_) return;
  const bool grouped =
      without_layout(work.work_class) == "grouped_conv" && gpu.peak_flops.contains(fp32);
  peak_ = gpu.sustained_flops(grouped ? fp32 : executed);
  matrix_units_ = !work.plans.empty() && has_matrix_units(gpu, executed);
}

void KernelTimer::set_flops(double share) {
  flops_ = share;
  computing_.clear();
  if (!is_matrix_ || share <= 0) return;
  const double rate = peak_ * share;
  for (const KernelPlan& plan : work_->plans) {
    const Seconds time =
        plan.attention
            ? attention_time(*plan.attention, multiprocessors_, rate, kernels_)
            : products_time(plan.products, multiprocessors_, matrix_units_, rate, kernels_);
    computing_.push_back(time.count());
  }
}

Seconds KernelTimer::time(double memory, BytesPerSecond channel) const {
  const double moving = term(bytes_, bandwidth_, memory);
  if (!is_matrix_) {
    const double rate = work_->channels * channel.count();
    return launches_ + Seconds{moving + (rate > 0 ? work_->bytes / rate : 0)};
  }
  const double least = bytes_ / bandwidth_;
  if (computing_.empty()) {
    return launches_ + Seconds{std::max(least, term(work_->flops, peak_, flops_) + moving)};
  }
  double fastest = INFINITY;
  for (std::size_t i = 0; i < computing_.size(); ++i) {
    const double time = computing_[i] + work_->plans[i].traffic * moving;
    fastest = std::min(fastest, std::max(least, time));
  }
  return launches_ + Seconds{fastest};
}

}  // namespace gradwire
