#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t patch_side = 4;      // pixels a side
constexpr std::int64_t window_side = 7;     // patches a side
constexpr std::int64_t head_width = 32;     // section 3.3
constexpr std::int64_t inner_multiple = 4;  // times the width, of the feed-forward block

struct SwinShape {
  std::string name;
  std::int64_t width = 0;  ///< of the first stage; each further one has twice that
  std::array<int, 4> blocks;
};

Activation as_tokens(Activation image) {
  image.height *= image.width;
  image.width = 1;
  return image;
}

/// The mask of shifted windows, as shifted_window_attention() makes it in each forward pass: zeros,
/// a number for each of the nine parts of the image, put in windows, the differences between
/// tokens, and two masked fills with their conditions and copies. Without a batch: its elements are
/// left out.
Activation mask_of_parts(ModelBuilder& net, const std::string& name, const Activation& windows) {
  ModelLayer mask;
  mask.name = name;
  mask.kind = "other";
  mask.forward = {.kernels = 1 + 9 + 1 + 1 + 2 * 3};
  mask.backward = {.kernels = 0};
  return net.custom(std::move(mask), {{windows}}, windows);
}

/// Whole windows: the image is padded to them, rolled where they are shifted, and copied into their
/// order and back.
Activation window_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                            bool shifted) {
  const auto padded = [](std::int64_t side) {
    return (side + window_side - 1) / window_side * window_side;
  };
  const std::int64_t width = input.channels;
  const std::int64_t heads = width / head_width;
  const bool one_window = input.height <= window_side && input.width <= window_side;
  const bool rolled = shifted && !one_window;
  Activation x = input;
  x.height = padded(input.height);
  x.width = padded(input.width);
  const std::int64_t windows = x.height * x.width / (window_side * window_side);
  if (x.elements() > input.elements()) {
    ModelLayer pad;
    pad.name = name + ".pad";
    pad.kind = "other";
    pad.forward = {.elements = static_cast<double>(input.elements() + x.elements())};
    pad.backward = {.elements = 2.0 * static_cast<double>(input.elements())};
    x = net.custom(std::move(pad), {{input}}, x);
  }
  if (rolled) x = net.copy(name + ".roll", x);
  x = as_tokens(net.copy(name + ".windows", x));
  if (rolled) x = mask_of_parts(net, name + ".mask_of_parts", x);
  const auto parts = net.split(name + ".split", net.linear(name + ".qkv", x, 3 * width), 3);
  const std::string table = name + ".relative_position_bias_table";
  constexpr std::int64_t distances = (2 * window_side - 1) * (2 * window_side - 1);
  x = attend(net, name, net.scale(name + ".scale", parts[0]), parts[1], parts[2],
             {.heads = heads,
              .mask = rolled ? Mask::added : Mask::none,
              .weight_dropout = false,
              .scaled = false,
              .table = ParameterSpec{.name = table, .shape = {distances, heads}, .ready = {}},
              .windows = windows});
  net.register_before(table, name + ".qkv");
  x = net.copy(name + ".image", net.linear(name + ".proj", x, width));
  if (rolled) x = net.copy(name + ".roll_back", x);
  x.height = input.height;
  x.width = input.width;
  return x;
}

Activation swin_block(ModelBuilder& net, const std::string& name, const Activation& input,
                      bool shifted, bool first) {
  Activation x =
      window_attention(net, name + ".attn", net.layer_norm(name + ".norm1", input), shifted);
  // the first block's is left out: its p is 0
  const auto dropped = [&](const char* part, const Activation& branch) {
    return first ? branch : net.stochastic_depth(name + part, branch);
  };
  x = net.add(name + ".add1", dropped(".depth1", x), input);
  const Activation seen = x;
  x = as_tokens(net.layer_norm(name + ".norm2", x));
  x = net.gelu(name + ".mlp.1", net.linear(name + ".mlp.0", x, inner_multiple * input.channels));
  x = net.linear(name + ".mlp.3", x, input.channels);
  return net.add(name + ".add2", seen, dropped(".depth2", x));
}

/// Four neighbours side by side, normed, to twice the width.
Activation merge(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation joined = {.channels = 4 * input.channels,
                             .height = (input.height + 1) / 2,
                             .width = (input.width + 1) / 2};
  ModelLayer cat;
  cat.name = name + ".cat";
  cat.kind = "other";
  const auto n = static_cast<double>(joined.elements());
  cat.forward = {.elements = 2 * n};
  // each of the four slices: zeros as large as the image, the slice copied; then their sum
  cat.backward = {.elements = 4 * n + 2 * n + 3 * 3 * n, .kernels = 11};
  const Activation x =
      net.layer_norm(name + ".norm", net.custom(std::move(cat), {{input}}, joined));
  const Activation output =
      net.linear(name + ".reduction", x, 2 * input.channels, ModelBuilder::Bias::none);
  net.register_before(name + ".reduction", name + ".norm");
  return output;
}

ModelDescription swin(const SwinShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name,
                   "Liu et al., arXiv 2103.14030; torchvision models/swin_transformer.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv(
      "features.0.0", x,
      {.out = shape.width, .kernel = square(patch_side), .stride = patch_side, .bias = true});
  x = net.layer_norm("features.0.2", net.copy("features.0.1", x));
  int part = 1;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
    for (int b = 0; b < shape.blocks[stage]; ++b) {
      const std::string name = fmt::format("features.{}.{}", part, b);
      x = swin_block(net, name, x, b % 2 == 1, stage == 0 && b == 0);
    }
    if (stage + 1 < shape.blocks.size()) x = merge(net, fmt::format("features.{}", part + 1), x);
    part += 2;
  }
  x = net.layer_norm("norm", x);
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.loss("loss", net.linear("head", x, options.classes.value_or(imagenet_classes)));
  return net.finish();
}

}  // namespace

ModelDescription swin_t(const ModelOptions& options) {
  return swin({"swin_t", 96, {2, 2, 6, 2}}, options);
}

ModelDescription swin_s(const ModelOptions& options) {
  return swin({"swin_s", 96, {2, 2, 18, 2}}, options);
}

ModelDescription swin_b(const ModelOptions& options) {
  return swin({"swin_b", 128, {2, 2, 18, 2}}, options);
}

}  // namespace gradwire
