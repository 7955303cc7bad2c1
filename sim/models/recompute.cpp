#include "sim/models/recompute.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>
#include <vector>

#include "sim/core/block_names.hpp"
#include "sim/models/efficiencies.hpp"

namespace gradwire {
namespace {

std::string_view block_of(const ModelLayer& layer) {
  return gradwire::block_of(layer.name, BlockNumbers::own_part);
}

bool is_product(const ModelLayer& layer) {
  return layer.kind == "linear" && !layer.fused_attention;
}

/// Is the layer's result kept in a block of which the rest is made again?
class KeptInBlock {
 public:
  explicit KeptInBlock(Recompute recompute) : recompute_(recompute) {}

  /// Layers in forward order.
  bool operator()(const ModelLayer& layer) {
    if (recompute_ != Recompute::selective) return false;
    if (layer.fused_attention) return true;
    return is_product(layer) && products_++ % 2 == 0;
  }

 private:
  Recompute recompute_;
  int products_ = 0;
};

}  // namespace

bool has_blocks(const ModelDescription& model) {
  constexpr int layers_of_a_block = 4;  // some number single layers: "features.3"
  std::map<std::string_view, int> layers;
  return std::ranges::any_of(model.layers, [&](const ModelLayer& layer) {
    const std::string_view block = block_of(layer);
    return !block.empty() && ++layers[block] >= layers_of_a_block;
  });
}

ModelDescription recomputed(ModelDescription model, Recompute recompute) {
  if (recompute == Recompute::none) return model;
  assert(has_blocks(model));
  KeptInBlock kept(recompute);
  for (ModelLayer& layer : model.layers) {
    if (block_of(layer).empty() || kept(layer)) continue;
    layer.backward.flops += layer.forward.flops;
    layer.backward.elements += layer.forward.elements;
    layer.backward.kernels += layer.forward.kernels;
  }
  return model;
}

KeptActivations kept_activations(const ModelDescription& model, Recompute recompute) {
  KeptActivations all;
  KeptInBlock kept(recompute);
  std::string block;
  double in_block = 0;  // what the block would keep
  double largest = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.name == "loss") {
      all.of_loss += 2 * layer.kept;
      all.elements += layer.kept;
      continue;
    }
    const std::string_view own = block_of(layer);
    if (recompute == Recompute::none || own.empty()) {
      all.elements += layer.kept;
      continue;
    }
    if (own != block) {
      block = own;
      in_block = 0;
    }
    if (in_block == 0) all.elements += layer.kept;  // its input
    if (kept(layer)) all.elements += layer.result;
    in_block += layer.kept;
    largest = std::max(largest, in_block);
  }
  all.elements += largest;
  return all;
}

double activation_memory(const ModelDescription& model, int batch, std::string_view dtype,
                         Recompute recompute) {
  assert(batch >= 1);
  const KeptActivations kept = kept_activations(model, recompute);
  const double loss = activation_bytes(dtype) < activation_bytes("fp32")
                          ? kept.of_loss * activation_bytes("fp32")
                          : kept.of_loss / 2 * activation_bytes("fp32");  // no copy: one type
  return batch * (kept.elements * activation_bytes(dtype) + loss);
}

}  // namespace gradwire
