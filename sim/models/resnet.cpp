#include "sim/models/resnet.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

struct StageShape {
  int blocks = 0;
  std::int64_t planes = 0;  ///< a block gives `expansion` times that many channels
  std::int64_t stride = 1;  ///< of its first block
};

struct ResNetShape {
  std::string name;
  std::string source;
  std::array<int, 4> blocks;
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
};

constexpr std::int64_t expansion = 4;

Activation bottleneck(ModelBuilder& net, const std::string& name, const Activation& input,
                      const StageShape& stage, const ResNetShape& network, bool first) {
  const std::int64_t width = stage.planes * network.width_per_group / 64 * network.groups;
  const std::int64_t stride = first ? stage.stride : 1;
  const std::int64_t out = stage.planes * expansion;
  Activation x = net.conv(name + ".conv1", input, {.out = width, .kernel = square(1)});
  x = net.act(name + ".relu1", net.batch_norm(name + ".bn1", x));
  x = net.conv(name + ".conv2", x,
               {.out = width,
                .kernel = square(3),
                .stride = stride,
                .padding = square(1),
                .groups = network.groups});
  x = net.act(name + ".relu2", net.batch_norm(name + ".bn2", x));
  x = net.conv(name + ".conv3", x, {.out = out, .kernel = square(1)});
  x = net.batch_norm(name + ".bn3", x);
  Activation shortcut = input;
  if (first) {
    shortcut = net.conv(name + ".downsample.0", input,
                        {.out = out, .kernel = square(1), .stride = stride});
    shortcut = net.batch_norm(name + ".downsample.1", shortcut);
  }
  return net.act(name + ".relu3", net.add(name + ".add", x, shortcut));
}

ModelDescription resnet(const ResNetShape& network, const ModelOptions& options) {
  ModelBuilder net(network.name, network.source);
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv("conv1", x, {.out = 64, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.act("relu", net.batch_norm("bn1", x));
  x = net.max_pool("maxpool", x, {.kernel = square(3), .stride = 2, .padding = square(1)});
  for (std::size_t s = 0; s < network.blocks.size(); ++s) {
    const StageShape stage = {
        .blocks = network.blocks[s], .planes = std::int64_t{64} << s, .stride = s == 0 ? 1 : 2};
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = fmt::format("layer{}.{}", s + 1, block);
      x = bottleneck(net, name, x, stage, network, block == 0);
    }
  }
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("fc", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

constexpr const char* resnet_source =
    "He et al., arXiv 1512.03385, v1.5 (stride in the 3x3 convolution); torchvision "
    "models/resnet.py";
constexpr const char* resnext_source = "Xie et al., arXiv 1611.05431; torchvision models/resnet.py";

}  // namespace

ModelDescription resnet50(const ModelOptions& options) {
  return resnet({.name = "resnet50", .source = resnet_source, .blocks = {3, 4, 6, 3}}, options);
}

ModelDescription resnet101(const ModelOptions& options) {
  return resnet({.name = "resnet101", .source = resnet_source, .blocks = {3, 4, 23, 3}}, options);
}

ModelDescription resnet152(const ModelOptions& options) {
  return resnet({.name = "resnet152", .source = resnet_source, .blocks = {3, 8, 36, 3}}, options);
}

ModelDescription resnext50_32x4d(const ModelOptions& options) {
  return resnet({.name = "resnext50_32x4d",
                 .source = resnext_source,
                 .blocks = {3, 4, 6, 3},
                 .groups = 32,
                 .width_per_group = 4},
                options);
}

ModelDescription resnext101_32x8d(const ModelOptions& options) {
  return resnet({.name = "resnext101_32x8d",
                 .source = resnext_source,
                 .blocks = {3, 4, 23, 3},
                 .groups = 32,
                 .width_per_group = 8},
                options);
}

}  // namespace gradwire
