#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

struct DenseNetShape {
  std::string name;
  std::array<int, 4> layers;  ///< of the dense blocks
  std::int64_t stem = 64;     ///< channels of the first convolution
  std::int64_t growth_rate = 32;
};

Activation dense_layer(ModelBuilder& net, const std::string& name,
                       const std::vector<Activation>& features, std::int64_t growth_rate) {
  const std::int64_t bottleneck = 4 * growth_rate;  // channels between a layer's convolutions
  Activation x = net.concat(name + ".cat", features);
  x = net.act(name + ".relu1", net.batch_norm(name + ".norm1", x));
  x = net.conv(name + ".conv1", x, {.out = bottleneck, .kernel = square(1)});
  x = net.act(name + ".relu2", net.batch_norm(name + ".norm2", x));
  return net.conv(name + ".conv2", x,
                  {.out = growth_rate, .kernel = square(3), .padding = square(1)});
}

Activation dense_block(ModelBuilder& net, const std::string& name, const Activation& input,
                       int layers, std::int64_t growth_rate) {
  std::vector<Activation> features = {input};
  for (int layer = 1; layer <= layers; ++layer) {
    features.push_back(
        dense_layer(net, fmt::format("{}.denselayer{}", name, layer), features, growth_rate));
  }
  return net.concat(name + ".cat", features);
}

Activation transition(ModelBuilder& net, const std::string& name, const Activation& input) {
  Activation x = net.act(name + ".relu", net.batch_norm(name + ".norm", input));
  x = net.conv(name + ".conv", x, {.out = input.channels / 2, .kernel = square(1)});
  return net.average_pool(name + ".pool", x, {.kernel = square(2), .stride = 2});
}

ModelDescription densenet(const DenseNetShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name, "Huang et al., arXiv 1608.06993; torchvision models/densenet.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = net.conv("features.conv0", x,
               {.out = shape.stem, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.act("features.relu0", net.batch_norm("features.norm0", x));
  x = net.max_pool("features.pool0", x, {.kernel = square(3), .stride = 2, .padding = square(1)});
  for (std::size_t block = 0; block < shape.layers.size(); ++block) {
    x = dense_block(net, fmt::format("features.denseblock{}", block + 1), x, shape.layers[block],
                    shape.growth_rate);
    if (block + 1 == shape.layers.size()) break;
    x = transition(net, fmt::format("features.transition{}", block + 1), x);
  }
  x = net.act("relu", net.batch_norm("features.norm5", x));
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1));
  net.linear("classifier", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace

ModelDescription densenet121(const ModelOptions& options) {
  return densenet({.name = "densenet121", .layers = {6, 12, 24, 16}}, options);
}

ModelDescription densenet161(const ModelOptions& options) {
  return densenet({.name = "densenet161", .layers = {6, 12, 36, 24}, .stem = 96, .growth_rate = 48},
                  options);
}

ModelDescription densenet201(const ModelOptions& options) {
  return densenet({.name = "densenet201", .layers = {6, 12, 48, 32}}, options);
}

}  // namespace gradwire
