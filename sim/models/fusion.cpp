#include "sim/models/fusion.hpp"

#include <string>

namespace gradwire {
namespace {

/// An add reads two tensors and writes one; an activation's backward reads the gradient and a saved
/// tensor and writes one. Merged, one of the three is left.
constexpr double left_of_three = 1.0 / 3.0;

/// Bytes that an element has more in fp32 than in half precision.
constexpr double fp32_over_half = 2;

bool merges(const std::string& kind, const std::string& before, Fusion fusion) {
  if (fusion == Fusion::bn_relu) {
    return (kind == "add" && before == "norm") ||
           (kind == "act" && (before == "norm" || before == "add"));
  }
  const bool elementwise = kind == "act" || kind == "add" || kind == "other";
  const bool memory_bound = before == "norm" || before == "act" || before == "add" ||
                            before == "other" || before == "softmax" || before == "embed" ||
                            before == "pool";
  return elementwise && memory_bound;
}

}  // namespace

ModelDescription fused(ModelDescription model, Fusion fusion) {
  if (fusion == Fusion::none) return model;
  std::string before;
  for (ModelLayer& layer : model.layers) {
    if (fusion == Fusion::inductor && layer.compiled) {
      layer.in_fp32 = layer.autocast_in_fp32 = false;  // its steps stay in registers
      layer.kept_bytes = 0;
      layer.forward = layer.compiled->forward;
      layer.backward = layer.compiled->backward;
    }
    if (fusion == Fusion::inductor) {
      if (layer.kind == "other") layer.kept_bytes = 0;  // backward draws a dropout's mask again
      // of what autocast leaves in fp32, sums before norms are kept, all else stays in registers
      layer.autocast_kept_bytes = layer.kind == "norm" ? fp32_over_half * layer.result : 0;
    }
    const bool idle = layer.forward.kernels == 0;  // a sum of gradients: nothing in forward
    if (!idle && merges(layer.kind, before, fusion)) {
      layer.forward.elements = layer.kind == "add" ? left_of_three * layer.forward.elements : 0;
      layer.backward.elements *= left_of_three;
      layer.forward.kernels = 0;
      layer.backward.kernels = 0;
    }
    if (!idle) before = layer.kind;
  }
  return model;
}

bool is_loss(const ModelLayer& layer) {
  return layer.name.ends_with("loss");
}

ModelDescription with_fused_loss(ModelDescription model) {
  for (ModelLayer& layer : model.layers) {
    if (!is_loss(layer) || layer.kind != "softmax") continue;
    layer.forward = {.elements = layer.kept};
    layer.backward = {.elements = 2 * layer.kept};
    layer.compiled.reset();
    layer.in_fp32 = false;
    layer.casts = 0;
  }
  return model;
}

}  // namespace gradwire
