#include "sim/models/squeeze_excite.hpp"

#include <utility>

namespace gradwire {

Activation squeeze_excite(ModelBuilder& net, const std::string& name, const Activation& input,
                          const SqueezeShape& shape) {
  const auto layer = [&](const std::string& part, const Activation& x, std::int64_t out) {
    const std::string path = name + "." + part;
    return shape.linear ? net.linear(path, x, out)
                        : net.conv(path, x, {.out = out, .kernel = square(1), .bias = true});
  };
  Activation x = net.adaptive_pool(name + ".avgpool", input, 1);
  x = layer(shape.names[0], x, shape.squeezed);
  x = shape.smooth ? net.smooth_act(name + ".act", x) : net.act(name + ".act", x);
  x = net.act(name + ".sigmoid", layer(shape.names[1], x, input.channels));
  ModelLayer product;
  product.name = name + ".scale";
  product.kind = "other";
  const auto n = static_cast<double>(input.elements());
  product.forward = {.elements = 2 * n};
  product.backward = {.elements = 6 * n, .kernels = 3};
  return net.custom(std::move(product), {{input, x}}, input);
}

}  // namespace gradwire
