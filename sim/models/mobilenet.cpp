#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t mobilenet_reduction = 4;

Activation conv_bn_relu(ModelBuilder& net, const std::string& name, const Activation& input,
                        const Convolution& shape) {
  const Activation x = net.batch_norm(name + "_bn", net.conv(name, input, shape));
  return net.act(name + "_relu", x);
}

/// A block of v3, as table 1 or 2 of the paper has it: kernel, width between, width out, whether it
/// squeezes, whether its activation is hard swish, stride.
struct V3Block {
  std::int64_t kernel = 3;
  std::int64_t expanded = 0;
  std::int64_t out = 0;
  bool squeezes = false;
  bool smooth = false;
  std::int64_t stride = 1;
};

ModelDescription v3(const std::string& name, const std::vector<V3Block>& blocks,
                    std::int64_t hidden, const ModelOptions& options) {
  ModelBuilder net(name, "Howard et al., arXiv 1905.02244; torchvision models/mobilenetv3.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = conv_norm_act(net, "features.0", x, {.out = 16, .kernel = 3, .stride = 2, .smooth = true});
  int position = 1;
  for (const V3Block& block : blocks) {
    const std::int64_t squeezed = block.expanded / mobilenet_reduction;
    x = inverted_residual(
        net, fmt::format("features.{}.block", position++), x,
        {.expanded = block.expanded,
         .kernel = block.kernel,
         .stride = block.stride,
         .out = block.out,
         .squeezed = block.squeezes ? divisible(static_cast<double>(squeezed)) : 0,
         .smooth = block.smooth});
  }
  x = conv_norm_act(net, fmt::format("features.{}", position), x,
                    {.out = 6 * x.channels, .smooth = true});
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  x = net.smooth_act("classifier.1", net.linear("classifier.0", x, hidden));
  x = net.dropout("classifier.2", x);
  net.linear("classifier.3", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace

ModelDescription mobilenet_v1(const ModelOptions& options) {
  struct Block {
    std::int64_t out = 0;
    std::int64_t stride = 1;
  };
  const std::vector<Block> blocks = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                     {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                     {512, 1}, {1024, 2}, {1024, 1}};
  ModelBuilder net("mobilenet_v1",
                   "Howard et al., arXiv 1704.04861; Keras applications/mobilenet.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = conv_bn_relu(net, "conv1", x,
                   {.out = 32, .kernel = square(3), .stride = 2, .padding = square(1)});
  int position = 1;
  for (const Block& block : blocks) {
    x = conv_bn_relu(net, fmt::format("conv_dw_{}", position), x,
                     {.out = x.channels,
                      .kernel = square(3),
                      .stride = block.stride,
                      .padding = square(1),
                      .groups = x.channels});
    x = conv_bn_relu(net, fmt::format("conv_pw_{}", position++), x,
                     {.out = block.out, .kernel = square(1)});
  }
  x = net.dropout("dropout", ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1)));
  net.linear("conv_preds", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

ModelDescription mobilenet_v2(const ModelOptions& options) {
  struct Stage {  // table 2 of the paper
    std::int64_t expansion = 6;
    std::int64_t out = 0;
    int blocks = 0;
    std::int64_t stride = 1;
  };
  const std::vector<Stage> stages = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                     {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  ModelBuilder net("mobilenet_v2",
                   "Sandler et al., arXiv 1801.04381; torchvision models/mobilenetv2.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = conv_norm_act(net, "features.0", x, {.out = 32, .kernel = 3, .stride = 2, .smooth = true});
  int position = 1;
  for (const Stage& stage : stages) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = inverted_residual(net, fmt::format("features.{}.conv", position++), x,
                            {.expanded = x.channels * stage.expansion,
                             .stride = block == 0 ? stage.stride : 1,
                             .out = stage.out,
                             .smooth = true,
                             .bare_projection = true});
    }
  }
  x = conv_norm_act(net, fmt::format("features.{}", position), x, {.out = 1280, .smooth = true});
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  x = net.dropout("classifier.0", x);
  net.linear("classifier.1", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

ModelDescription mobilenet_v3_large(const ModelOptions& options) {
  return v3("mobilenet_v3_large",
            {{3, 16, 16},
             {3, 64, 24, false, false, 2},
             {3, 72, 24},
             {5, 72, 40, true, false, 2},
             {5, 120, 40, true},
             {5, 120, 40, true},
             {3, 240, 80, false, true, 2},
             {3, 200, 80, false, true},
             {3, 184, 80, false, true},
             {3, 184, 80, false, true},
             {3, 480, 112, true, true},
             {3, 672, 112, true, true},
             {5, 672, 160, true, true, 2},
             {5, 960, 160, true, true},
             {5, 960, 160, true, true}},
            1280, options);
}

ModelDescription mobilenet_v3_small(const ModelOptions& options) {
  return v3("mobilenet_v3_small",
            {{3, 16, 16, true, false, 2},
             {3, 72, 24, false, false, 2},
             {3, 88, 24},
             {5, 96, 40, true, true, 2},
             {5, 240, 40, true, true},
             {5, 240, 40, true, true},
             {5, 120, 48, true, true},
             {5, 144, 48, true, true},
             {5, 288, 96, true, true, 2},
             {5, 576, 96, true, true},
             {5, 576, 96, true, true}},
            1024, options);
}

}  // namespace gradwire
