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

/// @param blocks  in each stage: depth = 6 blocks + 2.
ModelDescription cifar_resnet(const std::string& name, int blocks, const ModelOptions& options) {
  ModelBuilder net(name,
                   "He et al., arXiv 1512.03385, section 4.2, option A; named as akamaster's "
                   "pytorch_resnet_cifar10 resnet.py does");
  Activation x = net.image(3, options.image_size.value_or(cifar_side));
  x = net.conv("conv1", x, {.out = first_width, .kernel = square(3), .padding = square(1)});
  x = net.act("relu", net.batch_norm("bn1", x));
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

}  // namespace

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
