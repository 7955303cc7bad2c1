#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/elementwise.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t latent_channels = 4;
constexpr std::int64_t latent_reduction = 8;  // of the image's side, by the auto-encoder
constexpr std::int64_t dit_patch = 2;
constexpr std::int64_t frequencies = 256;  // of the time's embedding

/// A layer norm without tensors, then x (1 + scale) + shift with both from the condition: two
/// kernels (2 N each) forward; backward the gradients of x (2 N), of the scale (3 N and its sum)
/// and of the shift (N).
Activation modulated(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Activation& shift, const Activation& scale) {
  const Activation x = elementwise(net, name, "norm", {{input}}, {.elements = 2}, {.elements = 3});
  return elementwise(net, name + ".modulate", "other", {{x, shift, scale}},
                     {.elements = 4, .kernels = 2}, {.elements = 7, .kernels = 4});
}

/// x + gate y: the product as modulated()'s, and the sum.
Activation gated_add(ModelBuilder& net, const std::string& name, const Activation& x,
                     const Activation& y, const Activation& gate) {
  const Activation product = elementwise(net, name + ".gate", "other", {{y, gate}}, {.elements = 2},
                                         {.elements = 6, .kernels = 3});
  return net.add(name + ".add", x, product);
}

/// Makes `parts` vectors of the condition.
std::vector<Activation> condition(ModelBuilder& net, const std::string& name,
                                  const Activation& input, int parts) {
  const Activation x =
      net.linear(name + ".1", smooth(net, name + ".0", input), parts * input.channels);
  return net.split(name + ".chunk", x, parts);
}

Activation dit_block(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Activation& given, const Widths& shape) {
  const auto parts = condition(net, name + ".adaLN_modulation", given, 6);
  const std::string attention = name + ".attn";
  Activation x = modulated(net, name + ".norm1", input, parts[0], parts[1]);
  const auto heads =
      net.split(attention + ".split", net.linear(attention + ".qkv", x, 3 * shape.hidden), 3);
  const std::int64_t size = shape.hidden / shape.heads;
  x = flash_attend(net, attention, heads[0], heads[1], heads[2],
                   {.heads = shape.heads, .size = size, .value_size = size, .causal = false});
  x = net.linear(attention + ".proj", x, shape.hidden);
  const Activation residual = gated_add(net, attention, input, x, parts[2]);
  const std::string mlp = name + ".mlp";
  x = modulated(net, name + ".norm2", residual, parts[3], parts[4]);
  x = smooth(net, mlp + ".gelu", net.linear(mlp + ".fc1", x, shape.ffn));
  x = net.linear(mlp + ".fc2", x, shape.hidden);
  net.register_before(attention, name + ".adaLN_modulation");
  net.register_before(mlp, name + ".adaLN_modulation");
  return gated_add(net, mlp, residual, x, parts[5]);
}

/// Time and class as one vector; one more class stands for none.
Activation embedded_condition(ModelBuilder& net, std::int64_t classes, std::int64_t hidden) {
  Activation time = net.linear("t_embedder.mlp.0", net.input({.channels = frequencies}), hidden);
  time = net.linear("t_embedder.mlp.2", smooth(net, "t_embedder.mlp.1", time), hidden);
  const Activation label =
      net.embedding("y_embedder.embedding_table", net.input({.channels = 1}), classes + 1, hidden);
  return net.add("condition", time, label);
}

ModelDescription dit(const std::string& name, const ModelOptions& options) {
  const Widths shape = widths_of(name, options);
  ModelBuilder net(shape.name, "Peebles and Xie, arXiv 2212.09748; facebookresearch/DiT models.py");
  const std::int64_t side = options.image_size.value_or(dit_side) / latent_reduction;
  Activation x = net.conv(
      "x_embedder.proj", net.image(latent_channels, side),
      {.out = shape.hidden, .kernel = square(dit_patch), .stride = dit_patch, .bias = true});
  x.height *= std::exchange(x.width, 1);
  x = net.add_constant("pos_embed", x);
  const Activation given =
      embedded_condition(net, options.classes.value_or(imagenet_classes), shape.hidden);
  for (int layer = 0; layer < shape.layers; ++layer) {
    x = dit_block(net, fmt::format("blocks.{}", layer), x, given, shape);
  }
  const auto parts = condition(net, "final_layer.adaLN_modulation", given, 2);
  x = modulated(net, "final_layer.norm_final", x, parts[0], parts[1]);
  // noise and its variance
  x = net.linear("final_layer.linear", x, dit_patch * dit_patch * 2 * latent_channels);
  net.copy("unpatchify", x);
  net.register_before("final_layer.linear", "final_layer.adaLN_modulation");
  return net.finish();
}

}  // namespace

ModelDescription dit_b_2(const ModelOptions& options) {
  return dit("dit_b_2", options);
}

ModelDescription dit_xl_2(const ModelOptions& options) {
  return dit("dit_xl_2", options);
}

}  // namespace gradwire
