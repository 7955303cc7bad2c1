#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

struct ResNetShape {
  std::string name;
  std::string source;
  std::array<int, 4> blocks;
  ResidualShape block = {};
};

ModelDescription resnet(ResNetShape network, const ModelOptions& options) {
  network.block.groups = options.groups.value_or(network.block.groups);
  network.block.width_per_group = options.width_per_group.value_or(network.block.width_per_group);
  ModelBuilder net(network.name, network.source);
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = residual_stem(net, {"conv1", "bn1"}, x, network.block);
  for (std::size_t s = 0; s < network.blocks.size(); ++s) {
    x = residual_stage(
        net, fmt::format("layer{}", s + 1), x,
        {.planes = std::int64_t{64} << s, .blocks = network.blocks[s], .stride = s > 0 ? 2 : 1},
        network.block);
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
  return resnet({.name = "resnet18",
                 .source = basic_source,
                 .blocks = {2, 2, 2, 2},
                 .block = {.basic = true}},
                options);
}

ModelDescription resnet34(const ModelOptions& options) {
  return resnet({.name = "resnet34",
                 .source = basic_source,
                 .blocks = {3, 4, 6, 3},
                 .block = {.basic = true}},
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
                 .block = {.groups = 32, .width_per_group = 4}},
                options);
}

ModelDescription resnext101_32x8d(const ModelOptions& options) {
  return resnet({.name = "resnext101_32x8d",
                 .source = resnext_source,
                 .blocks = {3, 4, 23, 3},
                 .block = {.groups = 32, .width_per_group = 8}},
                options);
}

ModelDescription resnext101_32x4d(const ModelOptions& options) {
  return resnet({.name = "resnext101_32x4d",
                 .source = resnext_source,
                 .blocks = {3, 4, 23, 3},
                 .block = {.groups = 32, .width_per_group = 4}},
                options);
}

ModelDescription se_resnext101_32x4d(const ModelOptions& options) {
  return resnet({.name = "se_resnext101_32x4d",
                 .source = "Hu et al., arXiv 1709.01507; NVIDIA's DeepLearningExamples, "
                           "PyTorch/Classification/ConvNets/image_classification/models/resnet.py",
                 .blocks = {3, 4, 23, 3},
                 .block = {.groups = 32, .width_per_group = 4, .squeezed = true}},
                options);
}

ModelDescription wide_resnet50_2(const ModelOptions& options) {
  return resnet({.name = "wide_resnet50_2",
                 .source = "Zagoruyko and Komodakis, arXiv 1605.07146; torchvision "
                           "models/resnet.py",
                 .blocks = {3, 4, 6, 3},
                 .block = {.width_per_group = 128}},
                options);
}

}  // namespace gradwire
