#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

/// A 3x3 convolution of each channel by itself, then one across channels.
Activation separable_conv(ModelBuilder& net, const std::string& name, const Activation& input,
                          std::int64_t out) {
  const Activation x = net.conv(
      name + ".conv1", input,
      {.out = input.channels, .kernel = square(3), .padding = square(1), .groups = input.channels});
  return net.conv(name + ".pointwise", x, {.out = out, .kernel = square(1)});
}

struct BlockShape {
  std::vector<std::int64_t> widths;  ///< that each of its separable convolutions gives
  std::int64_t stride = 1;           ///< of the pooling behind them
  bool begins_with_act = true;
};

Activation separable_block(ModelBuilder& net, const std::string& name, const Activation& input,
                           const BlockShape& shape) {
  int position = 0;
  const auto next = [&] { return fmt::format("{}.rep.{}", name, position++); };
  Activation x = input;
  bool acts = shape.begins_with_act;
  for (const std::int64_t width : shape.widths) {
    if (acts) x = net.act(next(), x);
    x = separable_conv(net, next(), x, width);
    x = net.batch_norm(next(), x);
    acts = true;
  }
  if (shape.stride == 1) return net.add(name + ".add", x, input);
  x = net.max_pool(next(), x, {.kernel = square(3), .stride = shape.stride, .padding = square(1)});
  Activation skip =
      net.conv(name + ".skip", input,
               {.out = shape.widths.back(), .kernel = square(1), .stride = shape.stride});
  skip = net.batch_norm(name + ".skipbn", skip);
  net.register_before(name + ".skip", name + ".rep");
  return net.add(name + ".add", x, skip);
}

}  // namespace

ModelDescription xception(const ModelOptions& options) {
  constexpr std::int64_t middle = 728;
  constexpr int middle_blocks = 8;
  ModelBuilder net("xception",
                   "Chollet, arXiv 1610.02357; Cadene's pretrained-models.pytorch xception.py");
  Activation x = net.image(3, options.image_size.value_or(inception_side));
  x = net.conv("conv1", x, {.out = 32, .kernel = square(3), .stride = 2});
  x = net.act("relu1", net.batch_norm("bn1", x));
  x = net.conv("conv2", x, {.out = 64, .kernel = square(3)});
  x = net.act("relu2", net.batch_norm("bn2", x));
  x = separable_block(net, "block1", x,
                      {.widths = {128, 128}, .stride = 2, .begins_with_act = false});
  x = separable_block(net, "block2", x, {.widths = {256, 256}, .stride = 2});
  x = separable_block(net, "block3", x, {.widths = {middle, middle}, .stride = 2});
  for (int b = 0; b < middle_blocks; ++b) {
    x = separable_block(net, fmt::format("block{}", b + 4), x,
                        {.widths = {middle, middle, middle}});
  }
  x = separable_block(net, "block12", x, {.widths = {middle, 1024}, .stride = 2});
  x = net.act("relu3", net.batch_norm("bn3", separable_conv(net, "conv3", x, 1536)));
  x = net.act("relu4", net.batch_norm("bn4", separable_conv(net, "conv4", x, 2048)));
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("last_linear", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace gradwire
