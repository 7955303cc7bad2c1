#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t efficientnet_reduction = 4;  // of a block's input

struct Stage {
  std::int64_t expansion = 1;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;  ///< of its first block
  std::int64_t out = 0;
  int blocks = 0;
  bool fused = false;  ///< without a convolution by channel, and without squeezing
};

struct EfficientNetShape {
  std::string name;
  std::string source;
  int image_size = imagenet_side;
  std::int64_t stem = 0;
  std::vector<Stage> stages;
  std::int64_t last = 0;  ///< channels before the classifier
};

ModelDescription efficientnet(const EfficientNetShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name, shape.source);
  Activation x = net.image(3, options.image_size.value_or(shape.image_size));
  x = conv_norm_act(net, "features.0", x,
                    {.out = shape.stem, .kernel = 3, .stride = 2, .smooth = true});
  int position = 1;
  bool first = true;  // the first block of all is never dropped
  for (const Stage& stage : shape.stages) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = inverted_residual(net, fmt::format("features.{}.{}.block", position, block), x,
                            {.expanded = x.channels * stage.expansion,
                             .kernel = stage.kernel,
                             .stride = block == 0 ? stage.stride : 1,
                             .out = stage.out,
                             .squeezed = stage.fused ? 0 : x.channels / efficientnet_reduction,
                             .smooth = true,
                             .squeeze_smooth = true,
                             .fused = stage.fused,
                             .drops = !first});
      first = false;
    }
    ++position;
  }
  x = conv_norm_act(net, fmt::format("features.{}", position), x,
                    {.out = shape.last, .smooth = true});
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  x = net.dropout("classifier.0", x);
  net.linear("classifier.1", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

/// Table 1 of the paper, scaled.
EfficientNetShape scaled(const std::string& name, double width, double depth, int image_size) {
  EfficientNetShape shape = {
      .name = name,
      .source = "Tan and Le, arXiv 1905.11946; torchvision models/efficientnet.py",
      .image_size = image_size,
      .stem = divisible(32 * width),
      .stages = {{1, 3, 1, 16, 1},
                 {6, 3, 2, 24, 2},
                 {6, 5, 2, 40, 2},
                 {6, 3, 2, 80, 3},
                 {6, 5, 1, 112, 3},
                 {6, 5, 2, 192, 4},
                 {6, 3, 1, 320, 1}}};
  for (Stage& stage : shape.stages) {
    stage.out = divisible(static_cast<double>(stage.out) * width);
    stage.blocks = static_cast<int>(std::ceil(stage.blocks * depth));
  }
  shape.last = 4 * shape.stages.back().out;
  return shape;
}

}  // namespace

ModelDescription efficientnet_b0(const ModelOptions& options) {
  return efficientnet(scaled("efficientnet_b0", 1.0, 1.0, imagenet_side), options);
}

ModelDescription efficientnet_b4(const ModelOptions& options) {
  return efficientnet(scaled("efficientnet_b4", 1.4, 1.8, efficientnet_b4_side), options);
}

ModelDescription efficientnet_v2_s(const ModelOptions& options) {
  return efficientnet({.name = "efficientnet_v2_s",
                       .source = "Tan and Le, arXiv 2104.00298; torchvision models/efficientnet.py",
                       .image_size = efficientnet_v2_s_side,
                       .stem = 24,
                       .stages = {{1, 3, 1, 24, 2, true},
                                  {4, 3, 2, 48, 4, true},
                                  {4, 3, 2, 64, 4, true},
                                  {4, 3, 2, 128, 6},
                                  {6, 3, 1, 160, 9},
                                  {6, 3, 2, 256, 15}},
                       .last = 1280},
                      options);
}

}  // namespace gradwire
