#include "sim/models/image_models.hpp"

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {

ModelDescription alexnet(const ModelOptions& options) {
  constexpr std::int64_t hidden = 4096;
  constexpr Pooling halving = {.kernel = square(3), .stride = 2};
  ModelBuilder net("alexnet", "Krizhevsky, arXiv 1404.5997; torchvision models/alexnet.py");
  const auto conv = [&net](const std::string& name, const Activation& x, Convolution shape) {
    shape.bias = true;
    return net.conv(name, x, shape);
  };
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = conv("features.0", x, {.out = 64, .kernel = square(11), .stride = 4, .padding = square(2)});
  x = net.max_pool("features.2", net.act("features.1", x), halving);
  x = conv("features.3", x, {.out = 192, .kernel = square(5), .padding = square(2)});
  x = net.max_pool("features.5", net.act("features.4", x), halving);
  x = conv("features.6", x, {.out = 384, .kernel = square(3), .padding = square(1)});
  x = net.act("features.7", x);
  x = conv("features.8", x, {.out = 256, .kernel = square(3), .padding = square(1)});
  x = net.act("features.9", x);
  x = conv("features.10", x, {.out = 256, .kernel = square(3), .padding = square(1)});
  x = net.max_pool("features.12", net.act("features.11", x), halving);
  x = ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 6));
  x = net.dropout("classifier.0", x);
  x = net.act("classifier.2", net.linear("classifier.1", x, hidden));
  x = net.dropout("classifier.3", x);
  x = net.act("classifier.5", net.linear("classifier.4", x, hidden));
  net.linear("classifier.6", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace gradwire
