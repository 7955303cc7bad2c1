#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t bottleneck_expansion = 4;

Activation norm_act(ModelBuilder& net, const std::string& name, const Activation& input) {
  return net.act(name + ".act", net.batch_norm(name, input));
}

/// Where the shape changes, the shortcut starts behind the first norm.
Activation preactivated_block(ModelBuilder& net, const std::string& name, const Activation& input,
                              std::int64_t width, std::int64_t stride) {
  const std::int64_t out = width * bottleneck_expansion;
  const Activation normed = norm_act(net, name + ".norm1", input);
  Activation shortcut = input;
  if (stride > 1 || input.channels != out) {
    shortcut = net.conv(name + ".downsample.conv", normed,
                        {.out = out, .kernel = square(1), .stride = stride});
    net.register_before(name + ".downsample", name + ".norm1");
  }
  Activation x = net.conv(name + ".conv1", normed, {.out = width, .kernel = square(1)});
  x = norm_act(net, name + ".norm2", x);
  x = net.conv(name + ".conv2", x,
               {.out = width, .kernel = square(3), .stride = stride, .padding = square(1)});
  x = norm_act(net, name + ".norm3", x);
  x = net.conv(name + ".conv3", x, {.out = out, .kernel = square(1)});
  return net.add(name + ".add", x, shortcut);
}

ModelDescription preactivated_resnet(const std::string& name, const std::array<int, 4>& blocks,
                                     const ModelOptions& options) {
  ModelBuilder net(name, "He et al., arXiv 1603.05027; timm models/resnetv2.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv("stem.conv", x, {.out = 64, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.max_pool("stem.pool", x, {.kernel = square(3), .stride = 2, .padding = square(1)});
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    for (int b = 0; b < blocks[s]; ++b) {
      x = preactivated_block(net, fmt::format("stages.{}.blocks.{}", s, b), x,
                             std::int64_t{64} << s, s > 0 && b == 0 ? 2 : 1);
    }
  }
  x = norm_act(net, "norm", x);
  x = ModelBuilder::flatten(net.adaptive_pool("head.global_pool", x, 1));
  net.linear("head.fc", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace

ModelDescription resnet50_v2(const ModelOptions& options) {
  return preactivated_resnet("resnet50_v2", {3, 4, 6, 3}, options);
}

ModelDescription resnet101_v2(const ModelOptions& options) {
  return preactivated_resnet("resnet101_v2", {3, 4, 23, 3}, options);
}

ModelDescription resnet152_v2(const ModelOptions& options) {
  return preactivated_resnet("resnet152_v2", {3, 8, 36, 3}, options);
}

}  // namespace gradwire
