#include "sim/models/resnet.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/residual_block.hpp"
#include "sim/models/squeeze_excite.hpp"

namespace gradwire {
namespace {

struct ResNetShape {
  std::string name;
  std::string source;
  std::array<int, 4> blocks;
  bool basic = false;  ///< blocks of two 3x3 convolutions, no bottleneck
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
  bool squeezed = false;  ///< squeeze-and-excitation behind each block's last norm
};

constexpr std::int64_t bottleneck_expansion = 4;
constexpr std::int64_t squeeze_reduction = 16;  // Hu et al., section 6.3

Activation bottleneck(ModelBuilder& net, const std::string& name, const Activation& input,
                      std::int64_t planes, std::int64_t stride, const ResNetShape& network) {
  const std::int64_t width = planes * network.width_per_group / 64 * network.groups;
  Activation x = net.conv(name + ".conv1", input, {.out = width, .kernel = square(1)});
  x = net.act(name + ".relu1", net.batch_norm(name + ".bn1", x));
  x = net.conv(name + ".conv2", x,
               {.out = width,
                .kernel = square(3),
                .stride = stride,
                .padding = square(1),
                .groups = network.groups});
  x = net.act(name + ".relu2", net.batch_norm(name + ".bn2", x));
  x = net.conv(name + ".conv3", x, {.out = planes * bottleneck_expansion, .kernel = square(1)});
  return net.batch_norm(name + ".bn3", x);
}

Activation block(ModelBuilder& net, const std::string& name, const Activation& input,
                 std::int64_t planes, std::int64_t stride, const ResNetShape& network) {
  Activation x = network.basic ? basic_branch(net, name, input, planes, stride)
                               : bottleneck(net, name, input, planes, stride, network);
  Activation shortcut = input;
  if (stride > 1 || input.channels != x.channels) {
    shortcut = net.conv(name + ".downsample.0", input,
                        {.out = x.channels, .kernel = square(1), .stride = stride});
    shortcut = net.batch_norm(name + ".downsample.1", shortcut);
  }
  if (network.squeezed) {
    x = squeeze_excite(net, name + ".squeeze", x,
                       {.squeezed = x.channels / squeeze_reduction,
                        .names = {"squeeze", "expand"},
                        .linear = true});
  }
  return net.act(name + (network.basic ? ".relu2" : ".relu3"), net.add(name + ".add", x, shortcut));
}

ModelDescription resnet(const ResNetShape& network, const ModelOptions& options) {
  ModelBuilder net(network.name, network.source);
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv("conv1", x, {.out = 64, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.act("relu", net.batch_norm("bn1", x));
  x = net.max_pool("maxpool", x, {.kernel = square(3), .stride = 2, .padding = square(1)});
  for (std::size_t s = 0; s < network.blocks.size(); ++s) {
    const std::int64_t planes = std::int64_t{64} << s;
    for (int b = 0; b < network.blocks[s]; ++b) {
      const std::int64_t stride = s > 0 && b == 0 ? 2 : 1;
      x = block(net, fmt::format("layer{}.{}", s + 1, b), x, planes, stride, network);
    }
  }
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("fc", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

constexpr const char* resnet_source =
    "He et al., arXiv 1512.03385, v1.5 (stride in the 3x3 convolution); torchvision "
    "models/resnet.py";
constexpr const char* basic_source = "He et al., arXiv 1512.03385; torchvision models/resnet.py";
constexpr const char* resnext_source = "Xie et al., arXiv 1611.05431; torchvision models/resnet.py";

}  // namespace

ModelDescription resnet18(const ModelOptions& options) {
  return resnet({.name = "resnet18", .source = basic_source, .blocks = {2, 2, 2, 2}, .basic = true},
                options);
}

ModelDescription resnet34(const ModelOptions& options) {
  return resnet({.name = "resnet34", .source = basic_source, .blocks = {3, 4, 6, 3}, .basic = true},
                options);
}

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

ModelDescription resnext101_32x4d(const ModelOptions& options) {
  return resnet({.name = "resnext101_32x4d",
                 .source = resnext_source,
                 .blocks = {3, 4, 23, 3},
                 .groups = 32,
                 .width_per_group = 4},
                options);
}

ModelDescription se_resnext101_32x4d(const ModelOptions& options) {
  return resnet({.name = "se_resnext101_32x4d",
                 .source = "Hu et al., arXiv 1709.01507; NVIDIA's DeepLearningExamples, "
                           "PyTorch/Classification/ConvNets/image_classification/models/resnet.py",
                 .blocks = {3, 4, 23, 3},
                 .groups = 32,
                 .width_per_group = 4,
                 .squeezed = true},
                options);
}

ModelDescription wide_resnet50_2(const ModelOptions& options) {
  return resnet({.name = "wide_resnet50_2",
                 .source = "Zagoruyko and Komodakis, arXiv 1605.07146; torchvision "
                           "models/resnet.py",
                 .blocks = {3, 4, 6, 3},
                 .width_per_group = 128},
                options);
}

}  // namespace gradwire
