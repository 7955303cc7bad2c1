#include "sim/models/inception_block.hpp"

#include <fmt/format.h>

namespace gradwire {

Activation conv_norm(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Convolution& shape) {
  const Activation x = net.conv(name + ".conv", input, shape);
  return net.act(name + ".relu", net.batch_norm(name + ".bn", x));
}

Activation conv_norms(ModelBuilder& net, Activation x,
                      const std::vector<std::pair<std::string, Convolution>>& convolutions) {
  for (const auto& [name, shape] : convolutions) x = conv_norm(net, name, x, shape);
  return x;
}

Activation conv_sequence(ModelBuilder& net, const std::string& name, Activation x,
                         std::span<const Convolution> convolutions, int first) {
  for (const Convolution& shape : convolutions) {
    x = conv_norm(net, fmt::format("{}.{}", name, first++), x, shape);
  }
  return x;
}

}  // namespace gradwire
