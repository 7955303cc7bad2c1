#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr int cifar_stages = 3;
constexpr std::int64_t first_width = 16;

/// Option A: every other row and column, and as many channels of zeros as are missing. Forward one
/// kernel reads what it keeps and writes all; backward clears the gradient and fills in a quarter.
Activation padded_shortcut(ModelBuilder& net, const std::string& name, const Activation& input,
                           const Activation& like) {
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  const auto kept = static_cast<double>(input.channels * like.height * like.width);
  layer.forward = {.elements = kept + static_cast<double>(like.elements())};
  layer.backward = {.elements = static_cast<double>(input.elements()) + 2 * kept, .kernels = 2};
  return net.custom(std::move(layer), {{input}}, like);
}

/// What every network for CIFAR-10 begins with: nothing is halved.
Activation small_stem(ModelBuilder& net, const ModelOptions& options, std::int64_t width) {
  const Activation image = net.image(3, options.image_size.value_or(cifar_side));
  return net.conv("conv1", image, conv3x3(width));
}

/// @param blocks  in each stage: depth = 6 blocks + 2.
ModelDescription cifar_resnet(const std::string& name, int blocks, const ModelOptions& options) {
  ModelBuilder net(name,
                   "He et al., arXiv 1512.03385, section 4.2, option A; named as akamaster's "
                   "pytorch_resnet_cifar10 resnet.py does");
  Activation x = net.act("relu", net.batch_norm("bn1", small_stem(net, options, first_width)));
  for (int s = 0; s < cifar_stages; ++s) {
    for (int b = 0; b < blocks; ++b) {
      const std::string block = fmt::format("layer{}.{}", s + 1, b);
      const bool halves = s > 0 && b == 0;
      const Activation branch = basic_branch(net, block, x, first_width << s, halves ? 2 : 1);
      const Activation shortcut = halves ? padded_shortcut(net, block + ".shortcut", x, branch) : x;
      x = net.act(block + ".relu2", net.add(block + ".add", branch, shortcut));
    }
  }
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("linear", x, options.classes.value_or(cifar_classes));
  return net.finish();
}

/// Norm and ReLU before each convolution; where the width changes, the shortcut begins behind the
/// first ReLU.
Activation preactivated(ModelBuilder& net, const std::string& name, const Activation& input,
                        std::int64_t out, std::int64_t stride) {
  const Activation normed = net.act(name + ".relu1", net.batch_norm(name + ".bn1", input));
  Activation x =
      net.conv(name + ".conv1", normed,
               {.out = out, .kernel = square(3), .stride = stride, .padding = square(1)});
  x = net.act(name + ".relu2", net.batch_norm(name + ".bn2", x));
  x = net.conv(name + ".conv2", x, conv3x3(out));
  if (input.channels == out) return net.add(name + ".add", input, x);
  const Activation shortcut =
      net.conv(name + ".convShortcut", normed, {.out = out, .kernel = square(1), .stride = stride});
  return net.add(name + ".add", shortcut, x);
}

}  // namespace

ModelDescription resnet18_cifar(const ModelOptions& options) {
  ModelBuilder net("resnet18_cifar",
                   "He et al., arXiv 1512.03385; kuangliu's pytorch-cifar models/resnet.py");
  const ResidualShape blocks{.basic = true, .shortcut = "shortcut"};
  Activation x = net.act("relu", net.batch_norm("bn1", small_stem(net, options, 64)));
  for (int s = 0; s < 4; ++s) {
    x = residual_stage(net, fmt::format("layer{}", s + 1), x,
                       {.planes = std::int64_t{64} << s, .blocks = 2, .stride = s > 0 ? 2 : 1},
                       blocks);
  }
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("linear", x, options.classes.value_or(cifar_classes));
  return net.finish();
}

ModelDescription wide_resnet28_10(const ModelOptions& options) {
  constexpr std::int64_t widening = 10;
  constexpr int blocks = (28 - 4) / 6;
  ModelBuilder net("wide_resnet28_10",
                   "Zagoruyko and Komodakis, arXiv 1605.07146; named as xternalz's "
                   "WideResNet-pytorch wideresnet.py does");
  Activation x = small_stem(net, options, first_width);
  for (int s = 0; s < cifar_stages; ++s) {
    for (int b = 0; b < blocks; ++b) {
      x = preactivated(net, fmt::format("block{}.layer.{}", s + 1, b), x,
                       widening * (first_width << s), s > 0 && b == 0 ? 2 : 1);
    }
  }
  x = net.act("relu", net.batch_norm("bn1", x));
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("fc", x, options.classes.value_or(cifar_classes));
  return net.finish();
}

ModelDescription resnet20(const ModelOptions& options) {
  return cifar_resnet("resnet20", 3, options);
}

ModelDescription resnet56(const ModelOptions& options) {
  return cifar_resnet("resnet56", 9, options);
}

ModelDescription resnet110(const ModelOptions& options) {
  return cifar_resnet("resnet110", 18, options);
}

}  // namespace gradwire
