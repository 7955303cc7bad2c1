#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::array<std::int64_t, 5> stage_channels = {64, 128, 256, 512, 512};

/// @param convolutions  in each of the five blocks, which end in a pooling.
Activation features(ModelBuilder& net, Activation x, const std::array<int, 5>& convolutions,
                    bool normed) {
  int position = 0;
  const auto next = [&position] { return fmt::format("features.{}", position++); };
  for (std::size_t block = 0; block < stage_channels.size(); ++block) {
    for (int layer = 0; layer < convolutions[block]; ++layer) {
      x = net.conv(
          next(), x,
          {.out = stage_channels[block], .kernel = square(3), .padding = square(1), .bias = true});
      if (normed) x = net.batch_norm(next(), x);
      x = net.act(next(), x);
    }
    x = net.max_pool(next(), x, {.kernel = square(2), .stride = 2});
  }
  return x;
}

ModelDescription vgg(const std::string& name, const std::array<int, 5>& convolutions,
                     const ModelOptions& options) {
  constexpr std::int64_t hidden = 4096;
  ModelBuilder net(name,
                   "Simonyan and Zisserman, arXiv 1409.1556; torchvision models/vgg.py, without "
                   "batch norm");
  Activation x =
      features(net, net.image(3, options.image_size.value_or(imagenet_side)), convolutions, false);
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 7));
  x = net.act("classifier.1", net.linear("classifier.0", x, hidden));
  x = net.dropout("classifier.2", x);
  x = net.act("classifier.4", net.linear("classifier.3", x, hidden));
  x = net.dropout("classifier.5", x);
  net.linear("classifier.6", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

constexpr std::array<int, 5> configuration_d = {2, 2, 3, 3, 3};

}  // namespace

ModelDescription vgg11(const ModelOptions& options) {
  return vgg("vgg11", {1, 1, 2, 2, 2}, options);
}

ModelDescription vgg13(const ModelOptions& options) {
  return vgg("vgg13", {2, 2, 2, 2, 2}, options);
}

ModelDescription vgg16(const ModelOptions& options) {
  return vgg("vgg16", configuration_d, options);
}

ModelDescription vgg19(const ModelOptions& options) {
  return vgg("vgg19", {2, 2, 4, 4, 4}, options);
}

ModelDescription vgg16_cifar(const ModelOptions& options) {
  ModelBuilder net("vgg16_cifar",
                   "Simonyan and Zisserman, arXiv 1409.1556, configuration D; kuangliu's "
                   "pytorch-cifar models/vgg.py");
  const Activation x = features(net, net.image(3, cifar_side), configuration_d, true);
  net.linear("classifier", ModelBuilder::flatten(x), options.classes.value_or(cifar_classes));
  return net.finish();
}

}  // namespace gradwire
