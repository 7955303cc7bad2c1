#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/elementwise.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t unet_latent_channels = 4;
constexpr int unet_latent_reduction = 8;  // of the image's side, by the auto-encoder
constexpr int deepest_reduction = 8;      // of the latent's, by three halvings
constexpr std::array<std::int64_t, 4> level_widths = {320, 640, 1280, 1280};
constexpr std::int64_t time_width = 1280;
constexpr std::int64_t text_width = 768;
constexpr std::int64_t text_tokens = 77;
constexpr std::int64_t unet_heads = 8;
constexpr int down_layers = 2;          // of each level; up one more
constexpr std::size_t plain_level = 3;  // the deepest has no attention

/// Passes as a batch norm does, and keeps no statistics.
Activation group_norm(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto n = static_cast<double>(input.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "norm";
  layer.forward = {.elements = 3 * n, .kernels = 2};
  layer.backward = {.elements = 5 * n, .kernels = 2};
  layer.parameters = {{.name = name + ".weight", .shape = {input.channels}, .ready = {}},
                      {.name = name + ".bias", .shape = {input.channels}, .ready = {}}};
  return net.custom(std::move(layer), {{input}}, input, {0, 1});
}

Activation conv3(ModelBuilder& net, const std::string& name, const Activation& input,
                 std::int64_t out, std::int64_t stride = 1) {
  return net.conv(
      name, input,
      {.out = out, .kernel = square(3), .stride = stride, .padding = square(1), .bias = true});
}

Activation conv1(ModelBuilder& net, const std::string& name, const Activation& input,
                 std::int64_t out) {
  return net.conv(name, input, {.out = out, .kernel = square(1), .bias = true});
}

/// Two convolutions; between them a vector of the time is added to each channel: 2 N, and backward
/// its gradient's sum.
Activation residual(ModelBuilder& net, const std::string& name, const Activation& input,
                    const Activation& time, std::int64_t out) {
  Activation x = smooth(net, name + ".act1", group_norm(net, name + ".norm1", input));
  x = conv3(net, name + ".conv1", x, out);
  const Activation shift =
      net.linear(name + ".time_emb_proj", smooth(net, name + ".time_act", time), out);
  x = elementwise(net, name + ".add_time", "other", {{x, shift}}, {.elements = 2}, {.elements = 1});
  x = smooth(net, name + ".act2", group_norm(net, name + ".norm2", x));
  x = conv3(net, name + ".conv2", x, out);
  const Activation shortcut =
      input.channels == out ? input : conv1(net, name + ".conv_shortcut", input, out);
  return net.add(name + ".add", shortcut, x);
}

/// @param memory  what keys and values are made of.
Activation spatial_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                             const Activation& memory) {
  const std::int64_t width = input.channels;
  const Activation query = net.linear(name + ".to_q", input, width, ModelBuilder::Bias::none);
  const Activation key = net.linear(name + ".to_k", memory, width, ModelBuilder::Bias::none);
  const Activation value = net.linear(name + ".to_v", memory, width, ModelBuilder::Bias::none);
  const Activation x = flash_attend(net, name, query, key, value,
                                    {.heads = unet_heads,
                                     .size = width / unet_heads,
                                     .value_size = width / unet_heads,
                                     .causal = false});
  return net.linear(name + ".to_out.0", x, width);
}

/// Places as tokens: attention among them, to the text, and a feed-forward block gated by GELU.
Activation transformer(ModelBuilder& net, const std::string& name, const Activation& input,
                       const Activation& text) {
  const std::int64_t width = input.channels;
  Activation x = conv1(net, name + ".proj_in", group_norm(net, name + ".norm", input), width);
  x.height *= std::exchange(x.width, 1);
  const std::string block = name + ".transformer_blocks.0";
  Activation y = net.layer_norm(block + ".norm1", x);
  x = net.add(block + ".add1", spatial_attention(net, block + ".attn1", y, y), x);
  y = net.layer_norm(block + ".norm2", x);
  x = net.add(block + ".add2", spatial_attention(net, block + ".attn2", y, text), x);
  y = net.linear(block + ".ff.net.0.proj", net.layer_norm(block + ".norm3", x), 8 * width);
  const auto parts = net.split(block + ".ff.net.0.chunk", y, 2);
  y = net.gated_act(block + ".ff.net.0.geglu", parts[1], parts[0]);
  x = net.add(block + ".add3", net.linear(block + ".ff.net.2", y, width), x);
  x.height = input.height;
  x.width = input.width;
  return net.add(name + ".add", conv1(net, name + ".proj_out", x, width), input);
}

/// A layer of a level: a residual block, and attention where the level has it.
Activation level_layer(ModelBuilder& net, const std::string& block, int layer, std::size_t level,
                       const Activation& input, const std::array<Activation, 2>& given) {
  const Activation x = residual(net, fmt::format("{}.resnets.{}", block, layer), input, given[0],
                                level_widths[level]);
  if (level == plain_level) return x;
  return transformer(net, fmt::format("{}.attentions.{}", block, layer), x, given[1]);
}

/// @param skips  what each layer made, for the way up.
/// @param given  time and text.
Activation down(ModelBuilder& net, Activation x, std::vector<Activation>& skips,
                const std::array<Activation, 2>& given) {
  for (std::size_t level = 0; level < level_widths.size(); ++level) {
    const std::string block = fmt::format("down_blocks.{}", level);
    for (int layer = 0; layer < down_layers; ++layer) {
      x = level_layer(net, block, layer, level, x, given);
      skips.push_back(x);
    }
    if (level != plain_level) {
      net.register_before(block + ".attentions", block + ".resnets");
      x = conv3(net, block + ".downsamplers.0.conv", x, level_widths[level], 2);
      skips.push_back(x);
    }
  }
  return x;
}

Activation up(ModelBuilder& net, Activation x, std::vector<Activation>& skips,
              const std::array<Activation, 2>& given) {
  for (std::size_t level = level_widths.size(); level-- > 0;) {
    const std::string block = fmt::format("up_blocks.{}", level_widths.size() - 1 - level);
    for (int layer = 0; layer <= down_layers; ++layer) {
      x = net.concat(fmt::format("{}.cat.{}", block, layer), {{x, skips.back()}});
      skips.pop_back();
      x = level_layer(net, block, layer, level, x, given);
    }
    if (level != plain_level) net.register_before(block + ".attentions", block + ".resnets");
    if (level == 0) break;
    const std::string sampler = block + ".upsamplers.0";
    const auto n = static_cast<double>(x.elements());
    ModelLayer nearest;
    nearest.name = sampler + ".interpolate";
    nearest.kind = "pool";
    nearest.forward = {.elements = 5 * n};  // each element is read once, written four times
    nearest.backward = {.elements = 5 * n};
    const Activation larger = {
        .channels = x.channels, .height = 2 * x.height, .width = 2 * x.width};
    x = net.custom(std::move(nearest), {{x}}, larger);
    x = conv3(net, sampler + ".conv", x, x.channels);
  }
  return x;
}

}  // namespace

ModelDescription sd_unet(const ModelOptions& options) {
  ModelBuilder net("sd_unet",
                   "Rombach et al., arXiv 2112.10752, Stable Diffusion 1.x; diffusers "
                   "unet_2d_condition.py");
  const std::int64_t side = options.image_size.value_or(sd_side) / unet_latent_reduction;
  Activation time =
      net.linear("time_embedding.linear_1", net.input({.channels = level_widths[0]}), time_width);
  time = net.linear("time_embedding.linear_2", smooth(net, "time_embedding.act", time), time_width);
  const std::array<Activation, 2> given = {
      time, net.input({.channels = text_width, .height = text_tokens})};
  Activation x = conv3(net, "conv_in", net.image(unet_latent_channels, side), level_widths[0]);
  net.register_before("conv_in", "time_embedding");
  std::vector<Activation> skips = {x};
  x = down(net, x, skips, given);
  x = residual(net, "mid_block.resnets.0", x, time, x.channels);
  x = transformer(net, "mid_block.attentions.0", x, given[1]);
  x = residual(net, "mid_block.resnets.1", x, time, x.channels);
  net.register_before("mid_block.attentions", "mid_block.resnets");
  x = up(net, x, skips, given);
  net.register_before("up_blocks", "mid_block");
  x = smooth(net, "conv_act", group_norm(net, "conv_norm_out", x));
  x = conv3(net, "conv_out", x, unet_latent_channels);
  return net.finish();
}

}  // namespace gradwire
