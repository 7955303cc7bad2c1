#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

struct ConvNextShape {
  std::string name;
  std::array<std::int64_t, 4> widths;
  std::array<int, 4> blocks;
};

/// A factor for each channel: 2 N; backward the gradient's product with it (2 N) and with the
/// input (3 N), and that one's sum (N).
Activation layer_scale(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto n = static_cast<double>(input.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = 2 * n};
  layer.backward = {.elements = 6 * n, .kernels = 3};
  layer.parameters = {{.name = name, .shape = {input.channels, 1, 1}, .ready = {}}};
  return net.custom(std::move(layer), {{input}}, input);
}

/// @param first  of the network: its stochastic depth keeps every sample.
Activation convnext_block(ModelBuilder& net, const std::string& name, const Activation& input,
                          bool first) {
  const std::int64_t width = input.channels;
  Activation x = net.conv(
      name + ".block.0", input,
      {.out = width, .kernel = square(7), .padding = square(3), .groups = width, .bias = true});
  x = net.layer_norm(name + ".block.2", x);
  x = net.gelu(name + ".block.4", net.linear(name + ".block.3", x, 4 * width));
  x = layer_scale(net, name + ".layer_scale", net.linear(name + ".block.5", x, width));
  net.register_before(name + ".layer_scale", name + ".block");
  if (!first) x = net.stochastic_depth(name + ".stochastic_depth", x);
  return net.add(name + ".add", x, input);
}

ModelDescription convnext(const ConvNextShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name, "Liu et al., arXiv 2201.03545; torchvision models/convnext.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv("features.0.0", x,
               {.out = shape.widths[0], .kernel = square(4), .stride = 4, .bias = true});
  x = net.layer_norm("features.0.1", net.copy("features.0.permute", x));
  int part = 1;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
    for (int b = 0; b < shape.blocks[stage]; ++b) {
      x = convnext_block(net, fmt::format("features.{}.{}", part, b), x, stage == 0 && b == 0);
    }
    if (stage + 1 < shape.blocks.size()) {
      const std::string name = fmt::format("features.{}", part + 1);
      x = net.conv(
          name + ".1", net.layer_norm(name + ".0", x),
          {.out = shape.widths[stage + 1], .kernel = square(2), .stride = 2, .bias = true});
    }
    part += 2;
  }
  x = net.layer_norm("classifier.0", net.adaptive_pool("avgpool", x, 1));
  x = net.linear("classifier.2", x, options.classes.value_or(imagenet_classes));
  net.loss("loss", x);
  return net.finish();
}

}  // namespace

ModelDescription convnext_tiny(const ModelOptions& options) {
  return convnext({"convnext_tiny", {96, 192, 384, 768}, {3, 3, 9, 3}}, options);
}

ModelDescription convnext_base(const ModelOptions& options) {
  return convnext({"convnext_base", {128, 256, 512, 1024}, {3, 3, 27, 3}}, options);
}

}  // namespace gradwire
