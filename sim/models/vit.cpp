#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

struct VitShape {
  Widths widths;
  std::int64_t patch = 0;  ///< pixels a side
  bool multihead = false;  ///< attention as nn.MultiheadAttention of torchvision runs it
  bool eager = false;      ///< with the scores in memory, as timm's before PyTorch 2
};

/// What nn.MultiheadAttention moves beside its products and its attention (recording of ViT-B/16,
/// PyTorch 2.11, kernels a block), in tensors of a token's width n. Forward: its input, transposed
/// (2 n); queries, keys and values beside each other, made contiguous (6 n); the result, transposed
/// (2 n). Backward: each of the three slices in a cleared tensor of all (3 n and 2 n each), the
/// sums of those (two of 9 n), and the forward's copies back, of which split() counts one.
Activation copies_of_multihead(ModelBuilder& net, const std::string& name,
                               const Activation& packed) {
  const auto n = static_cast<double>(packed.elements()) / 3;
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.kept = n;
  layer.forward = {.elements = 10 * n, .kernels = 3};
  layer.backward = {.elements = (3 * 5 + 2 * 9 + 4) * n, .kernels = 10};
  // A compiler makes queries, keys and values contiguous in one kernel, and their gradients in
  // split()'s (assumed).
  layer.compiled = PassWork{.forward = {.elements = 6 * n}, .backward = {.kernels = 0}};
  return net.custom(std::move(layer), {{packed}}, packed);
}

/// Queries, keys and values of the projection's result.
std::vector<Activation> parts_of(ModelBuilder& net, const std::string& name,
                                 const Activation& packed, bool multihead) {
  return net.split(name + ".split",
                   multihead ? copies_of_multihead(net, name + ".copies", packed) : packed, 3);
}

Activation vit_block(ModelBuilder& net, const std::string& name, const Activation& input,
                     const VitShape& shape) {
  Activation x = net.layer_norm(name + ".ln_1", input);
  const std::string attention = name + ".self_attention";
  const auto parts =
      parts_of(net, attention, net.linear(attention + ".in_proj", x, 3 * shape.widths.hidden),
               shape.multihead);
  const std::int64_t size = shape.widths.hidden / shape.widths.heads;
  // nn.Dropout(0) of timm's weights launches nothing.
  x = shape.eager
          ? attend(net, attention, parts[0], parts[1], parts[2],
                   {.heads = shape.widths.heads, .mask = Mask::none, .weight_dropout = false})
          : flash_attend(
                net, attention, parts[0], parts[1], parts[2],
                {.heads = shape.widths.heads, .size = size, .value_size = size, .causal = false});
  x = net.linear(attention + ".out_proj", x, shape.widths.hidden);
  const Activation residual = net.add(name + ".add_1", x, input);
  x = net.layer_norm(name + ".ln_2", residual);
  x = net.gelu(name + ".mlp.1", net.linear(name + ".mlp.0", x, shape.widths.ffn));
  x = net.linear(name + ".mlp.3", x, shape.widths.hidden);
  return net.add(name + ".add_2", residual, x);
}

/// Puts a token that is a parameter before the patches.
Activation with_class_token(ModelBuilder& net, const Activation& patches) {
  Activation output = patches;
  ++output.height;
  ModelLayer layer;
  layer.name = "class_token";
  layer.kind = "other";
  const auto moved = static_cast<double>(patches.elements() + output.elements());
  layer.forward = {.elements = moved};
  layer.backward = {.elements = static_cast<double>(output.channels)};
  layer.parameters = {{.name = "class_token", .shape = {1, 1, patches.channels}, .ready = {}}};
  return net.custom(std::move(layer), {{patches}}, output);
}

/// Adds a table of positions, one row a token.
Activation with_positions(ModelBuilder& net, const Activation& tokens) {
  ModelLayer layer;
  layer.name = "encoder.pos_embedding";
  layer.kind = "add";
  const auto elements = static_cast<double>(tokens.elements());
  layer.forward = {.elements = 2 * elements};
  layer.backward = {.elements = elements};  // summed over the batch
  layer.parameters = {
      {.name = "encoder.pos_embedding", .shape = {1, tokens.height, tokens.channels}, .ready = {}}};
  return net.custom(std::move(layer), {{tokens}}, tokens);
}

ModelDescription vit(VitShape shape, const ModelOptions& options) {
  if (options.attention) {
    shape.multihead = *options.attention == multihead_attention;
    shape.eager = *options.attention == "eager";
  }
  ModelBuilder net(
      shape.widths.name,
      "Dosovitskiy et al., arXiv 2010.11929; torchvision models/vision_transformer.py");
  const std::int64_t side = options.image_size.value_or(imagenet_side);
  const std::int64_t classes = options.classes.value_or(imagenet_classes);
  Activation x = net.conv("conv_proj", net.image(3, side),
                          {.out = shape.widths.hidden,
                           .kernel = square(shape.patch),
                           .stride = shape.patch,
                           .bias = true});
  x.height *= std::exchange(x.width, 1);
  x = with_positions(net, with_class_token(net, x));
  for (int layer = 0; layer < shape.widths.layers; ++layer) {
    x = vit_block(net, fmt::format("encoder.layers.encoder_layer_{}", layer), x, shape);
  }
  x = net.layer_norm("encoder.ln", x);
  x = net.linear("heads.head", net.gather("class_token.gather", x, 1), classes);
  net.loss("loss", x);
  return net.finish();
}

}  // namespace

ModelDescription vit_s_16(const ModelOptions& options) {
  return vit({widths_of("vit_s_16", options), 16, false}, options);
}

ModelDescription vit_b_16(const ModelOptions& options) {
  return vit({widths_of("vit_b_16", options), 16, true}, options);
}

ModelDescription vit_l_16(const ModelOptions& options) {
  return vit({widths_of("vit_l_16", options), 16, true}, options);
}

ModelDescription vit_h_14(const ModelOptions& options) {
  return vit({widths_of("vit_h_14", options), 14, true}, options);
}

}  // namespace gradwire
