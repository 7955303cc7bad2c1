#include "sim/models/recompute.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>

#include "sim/core/block_names.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/fusion.hpp"
#include "sim/models/mixed_precision.hpp"

namespace gradwire {
namespace {

/// Some number single layers: "features.3", "t_embedder.mlp.0".
constexpr int layers_of_a_block = 4;

std::map<std::string_view, int> layers_by_number(const ModelDescription& model) {
  std::map<std::string_view, int> layers;
  for (const ModelLayer& layer : model.layers) {
    const std::string_view number = block_of(layer.name, BlockNumbers::own_part);
    if (!number.empty()) ++layers[number];
  }
  return layers;
}

bool is_product(const ModelLayer& layer) {
  return layer.kind == "linear" && !layer.fused_attention;
}

/// Which block a layer is of.
class Blocks {
 public:
  /// The model must outlive it.
  explicit Blocks(const ModelDescription& model) : layers_(layers_by_number(model)) {}

  /// "" where it is of none.
  std::string_view operator()(const ModelLayer& layer) const {
    const std::string_view number = block_of(layer.name, BlockNumbers::own_part);
    return !number.empty() && layers_.at(number) >= layers_of_a_block ? number : std::string_view();
  }

  [[nodiscard]] int count() const {
    return static_cast<int>(std::ranges::count_if(
        layers_, [](const auto& block) { return block.second >= layers_of_a_block; }));
  }

 private:
  std::map<std::string_view, int> layers_;
};

/// Which layers are of a block that is made again.
class BlocksMadeAgain {
 public:
  explicit BlocksMadeAgain(Recomputation recompute) : recompute_(recompute) {}

  /// Layers in forward order, each with its block.
  bool operator()(std::string_view own) {
    if (recompute_.what == Recompute::none || own.empty()) return false;
    if (own != block_) {
      block_ = own;
      ++blocks_;
    }
    return blocks_ <= recompute_.blocks;
  }

 private:
  Recomputation recompute_;
  std::string block_;
  int blocks_ = 0;  ///< so far
};

/// Is the layer's result kept in a block of which the rest is made again?
class KeptInBlock {
 public:
  explicit KeptInBlock(Recompute recompute) : recompute_(recompute) {}

  /// Layers of blocks in forward order.
  bool operator()(const ModelLayer& layer, std::string_view own) {
    if (recompute_ != Recompute::selective) return false;
    if (own != block_) {
      block_ = own;
      products_ = 0;
    }
    if (layer.fused_attention) return true;
    return is_product(layer) && products_++ % 2 == 0;
  }

 private:
  Recompute recompute_;
  std::string block_;
  int products_ = 0;  ///< of that block so far
};

/// Of a block's end: a sum's result is in no backward, and of a product its input is.
void stop_early(ModelDescription& model, const Blocks& block_of) {
  std::string_view block;
  bool stopped = false;
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    ModelLayer& layer = model.layers[i];
    if (const std::string_view own = block_of(layer); own != block) {
      block = own;
      stopped = false;
    }
    if (stopped) continue;
    stopped = layer.kind != "add";
    if (!stopped || is_product(layer)) layer.made_again = false;
  }
}

}  // namespace

int block_count(const ModelDescription& model) {
  return Blocks(model).count();
}

ModelDescription recomputed(ModelDescription model, Recomputation recompute, bool early_stop) {
  if (recompute.what == Recompute::none) return model;
  const Blocks block_of(model);
  assert(block_of.count() > 0);
  BlocksMadeAgain again(recompute);
  KeptInBlock kept(recompute.what);
  for (ModelLayer& layer : model.layers) {
    const std::string_view own = block_of(layer);
    layer.made_again = again(own) && !kept(layer, own);
  }
  if (early_stop) stop_early(model, block_of);
  return model;
}

KeptActivations kept_activations(const ModelDescription& model, Recomputation recompute) {
  KeptActivations all;
  const Blocks block_of(model);
  BlocksMadeAgain again(recompute);
  KeptInBlock kept(recompute.what);
  std::string block;
  double in_block = 0;  // what the block would keep
  double left = 0;      // of it, what it does not keep
  double largest = 0;
  int number = -1;  // of the block
  for (const ModelLayer& layer : model.layers) {
    KeptActivations::Layer& here = all.by_layer.emplace_back();
    if (is_loss(layer)) {
      all.logits += layer.kept;
      all.cast_logits += layer.upcast ? 0 : layer.kept;
      continue;
    }
    const std::string_view own = block_of(layer);
    if (!again(own)) {
      here.kept = layer.kept;
      all.bytes += layer.kept_bytes;
      all.autocast_bytes += layer.autocast_kept_bytes;
      all.fp32_bytes += layer.autocast_in_fp32 ? layer.kept_bytes : 0;
      continue;
    }
    if (own != block) {
      block = own;
      in_block = left = 0;
      ++number;
    }
    double stays = 0;
    if (in_block == 0) {  // the block's input, which sums and norms leave in fp32 under autocast
      stays = layer.kept;
      all.autocast_bytes += (activation_bytes("fp32") - activation_bytes("bf16")) * layer.kept;
    }
    if (kept(layer, own)) stays += layer.result;
    here = {.kept = stays, .again = layer.kept - stays, .block = number};
    in_block += layer.kept;
    left += layer.kept - stays;
    largest = std::max(largest, left);
  }
  for (const KeptActivations::Layer& layer : all.by_layer) all.elements += layer.kept;
  all.again = largest;
  return all;
}

namespace {

/// What is there of layers in backward, from the last one to the first.
class Passing {
 public:
  Passing(const ModelDescription& model, const KeptActivations& kept) : model_(model), kept_(kept) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (kept.by_layer[i].block < 0) casts_ += cast_weights(model.layers[i]);
    }
  }

  /// Its block, if it is the first of one that is made again, is.
  void reach(std::size_t layer) {
    const int block = kept_.by_layer[layer].block;
    if (block == block_) return;
    block_ = block;
    for (std::size_t i = layer + 1; block >= 0 && i-- > 0 && kept_.by_layer[i].block == block;) {
      again_ += kept_.by_layer[i].again;
      casts_ += cast_weights(model_.layers[i]);
    }
  }
  void pass(std::size_t layer) {
    const KeptActivations::Layer& here = kept_.by_layer[layer];
    passed_ += here.kept;
    again_ -= here.again;
    casts_ -= cast_weights(model_.layers[layer]);
  }

  /// Elements beyond those that are kept when backward begins.
  [[nodiscard]] double activations() const { return again_ - passed_; }
  [[nodiscard]] std::int64_t casts() const { return casts_; }

 private:
  const ModelDescription& model_;
  const KeptActivations& kept_;
  int block_ = -1;
  double passed_ = 0;
  double again_ = 0;
  std::int64_t casts_ = 0;
};

/// @param activations  bytes that are kept when backward begins; @param own  bytes of the model's
/// type
BackwardMoment fullest_moment(const ModelDescription& model, int batch, const KeptActivations& kept,
                              double activations, double own) {
  const double gradient = activation_bytes("fp32");
  const double cast = own < gradient ? own : 0;
  Passing passing(model, kept);
  double gradients = 0;
  double most = 0;
  BackwardMoment fullest;
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    passing.reach(i);
    for (const ParameterSpec& parameter : model.parameters_of(model.layers[i], batch)) {
      gradients += static_cast<double>(parameter.gradient_elements());
    }
    const double here = activations + batch * own * passing.activations();
    const double all = here + gradient * gradients + cast * static_cast<double>(passing.casts());
    if (all > most) {
      most = all;
      fullest = {.activations = Bytes{static_cast<std::int64_t>(here)},
                 .gradients = static_cast<std::int64_t>(gradients),
                 .casts = cast > 0 ? passing.casts() : 0};
    }
    passing.pass(i);
  }
  return fullest;
}

/// Of the largest block that is made again, and of all layers and those that are not.
struct CastsOfModel : CastWeights {
  std::int64_t again = 0;
};

CastsOfModel casts_of(const ModelDescription& model, const KeptActivations& kept) {
  CastsOfModel casts;
  std::map<int, std::int64_t> of_block;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::int64_t elements = cast_weights(model.layers[i]);
    casts.all += elements;
    const int block = kept.by_layer[i].block;
    std::int64_t& sum = block < 0 ? casts.kept : of_block[block];
    sum += elements;
    if (block >= 0) casts.again = std::max(casts.again, sum);
  }
  return casts;
}

/// @param own  bytes of the model's type
double bytes_of_logit(LossForm loss, double own) {
  const double full = activation_bytes("fp32");
  switch (loss) {
    case LossForm::fused:
      return own;
    case LossForm::compiled:
      return own + full + (own < full ? own : 0);
    case LossForm::operators:
      break;
  }
  constexpr int of_loss = 3;  // its result, and two gradients
  return of_loss * full;
}

/// The same when forward ends: of operators the logits, their cast and the loss's result.
double bytes_of_logit_in_forward(LossForm loss, double own) {
  const double full = activation_bytes("fp32");
  if (loss != LossForm::operators) return own;
  return own + (own < full ? full : 0) + full;
}

}  // namespace

ActivationMemory activation_memory(const ModelDescription& model, int batch, std::string_view dtype,
                                   Recomputation recompute, bool autocast, LossForm loss) {
  assert(batch >= 1);
  const KeptActivations kept = kept_activations(model, recompute);
  const double own = activation_bytes(dtype);
  const double full = activation_bytes("fp32");
  const double narrower = 1 - own / full;
  const double more = kept.bytes + (autocast ? kept.autocast_bytes : -narrower * kept.fp32_bytes);
  const double activations = batch * (kept.elements * own + more);
  const bool half = own < full;
  // Of autocast's own cast: no copy in fp32, and a gradient that is none either.
  const double cast = autocast && half && loss == LossForm::operators ? kept.cast_logits : 0;
  const double logits = batch * (kept.logits * bytes_of_logit(loss, own) - cast * (full - own));
  const double again = batch * kept.again * own;
  const bool at_loss = logits >= again;
  const CastsOfModel casts = half ? casts_of(model, kept) : CastsOfModel{};
  return {.activations = activations + (at_loss ? 0 : again),
          .logits = at_loss ? logits : 0,
          .forward_end = activations +
                         batch * (kept.logits * bytes_of_logit_in_forward(loss, own) - cast * full),
          .fullest = fullest_moment(model, batch, kept, activations, own),
          .casts = {.all = casts.all, .kept = casts.kept + (at_loss ? 0 : casts.again)}};
}

}  // namespace gradwire
