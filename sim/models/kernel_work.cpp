#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "sim/models/analytic_profile.hpp"
#include "sim/models/mixed_precision.hpp"
#include "sim/models/products.hpp"

namespace gradwire {
namespace {

/// Parameters that a matrix product reads, 0 when both operands are activations.
double weights_of(const ModelLayer& layer) {
  if (layer.convolution) {
    const ConvolutionShape& shape = *layer.convolution;
    const std::int64_t weights = shape.in_channels / shape.groups * shape.out_channels *
                                 shape.kernel_height * shape.kernel_width;
    return static_cast<double>(weights);
  }
  if (layer.product && layer.product->weight_operand) {
    return static_cast<double>(layer.product->columns * layer.product->depth);
  }
  double weights = 0;
  if (!layer.product && is_matrix(work_class(layer))) {  // counted by the user
    for (const ParameterSpec& tensor : layer.parameters) {
      weights += static_cast<double>(tensor.elements());
    }
  }
  return weights;
}

/// Elements of parameters and their gradients that a direction moves. Backward: the weights are
/// read for the input's gradient, their own gradient is written; an embedding's is cleared as a
/// whole, if it is dense.
double parameter_traffic(const ModelLayer& layer, const KernelSetting& setting,
                         Direction direction) {
  const double weights = weights_of(layer) + layer.weights_read_again;
  if (direction == Direction::forward) return weights;
  if (layer.kind == "embed" && !layer.parameters.empty()) {
    return static_cast<double>(
        setting.sparse_embeddings
            ? with_sparse_rows(layer, setting.batch).front().gradient_elements()
            : layer.parameters.front().elements());
  }
  return weights + weights_of(layer);
}

/// Over the passes over a batch norm's tensors (3 forward, 5 backward): what is left where its
/// kernel keeps them in registers and shared memory, and what slow kernels take as long for.
double norm_passes(const ModelLayer& layer, const KernelSetting& setting, Direction direction) {
  if (layer.kind != "norm" || setting.batch_norms == BatchNorms::plain) return 1;
  if (setting.batch_norms == BatchNorms::spatial) return setting.gpu.kernels.spatial_norm_slowness;
  return direction == Direction::forward ? 2.0 / 3 : 3.0 / 5;
}

/// Root mean squares have a weight alone, and are run operator by operator.
bool is_layer_norm(const ModelLayer& layer) {
  return layer.kind == "norm" && layer.parameters.size() == 2;
}

/// What torch.autocast computes in fp32, or leaves in what an fp32 operand makes of it. A loss is
/// counted with its casts.
bool is_sum(const ModelLayer& layer) {
  return layer.kind == "add" || layer.kind == "embed" ||
         (layer.kind == "softmax" && !is_loss(layer)) || is_layer_norm(layer);
}

/// work_class(), as far as the setting tells more.
std::string_view class_in(const KernelSetting& setting, const ModelLayer& layer) {
  std::string_view work = work_class(layer);
  if (setting.token_norms && is_layer_norm(layer)) return "layer_norm";
  if (work == "norm" && setting.native_norms) work = "batch_norm";
  if (work == "flash_attention" && setting.attention == AttentionKernels::cudnn) {
    return "cudnn_attention";
  }
  if (setting.channels_last) return nhwc_class(work);
  if (work != "linear" || !layer.product) return work;
  constexpr std::int64_t loaded = 16;  // bytes
  const auto row = layer.product->columns * std::llround(activation_bytes(setting.dtype));
  if (setting.padded_products || row % loaded == 0) return work;
  if (row % 8 == 0) return "linear_by_8";
  return row % 4 == 0 ? "linear_by_4" : "linear_by_2";
}

/// Bytes of a layer's activations that an L2 cache still has of the kernels before. Between a
/// byte's writing and its reading pass, in the mean over a tensor, half of what both layers move.
double cached_of(double activations, double bytes, const KernelSetting& setting) {
  const auto size = static_cast<double>(setting.gpu.l2.size.count());
  if (size <= 0 || setting.moved_before <= 0) return 0;
  const double passed = (setting.moved_before + bytes) / 2;
  return activations * std::clamp(setting.gpu.kernels.cache_reach - passed / size, 0.0, 1.0);
}

}  // namespace

KernelWork kernel_work(const ModelLayer& layer, const KernelSetting& setting, Direction direction) {
  const LayerWork& work = direction == Direction::forward ? layer.forward : layer.backward;
  const std::string_view work_class = class_in(setting, layer);
  if (work.kernels == 0 && work.elements <= 0) return {.work_class = work_class, .kernels = 0};
  const double activations = norm_passes(layer, setting, direction) * setting.batch * work.elements;
  const double elements = activations + parameter_traffic(layer, setting, direction);
  const bool units = has_matrix_units(setting.gpu, executed_dtype(setting.gpu, setting.dtype));
  const bool in_fp32 =
      layer.in_fp32 || (setting.sums_in_fp32 && (layer.autocast_in_fp32 || is_sum(layer)));
  const double size = activation_bytes(in_fp32 ? "fp32" : std::string_view(setting.dtype));
  return {.work_class = work_class,
          .flops = setting.batch * work.flops,
          .bytes = size * elements,
          .cached = cached_of(size * activations, size * elements, setting),
          .kernels = work.kernels,
          .channels = work_class == "batch_norm" && !layer.parameters.empty()
                          ? static_cast<double>(layer.parameters.front().elements())
                          : 0,
          .plans = plans_of(layer, setting.batch, direction, units)};
}

}  // namespace gradwire
