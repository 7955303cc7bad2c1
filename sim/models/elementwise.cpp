#include "sim/models/elementwise.hpp"

#include <utility>

namespace gradwire {

Activation elementwise(ModelBuilder& net, const std::string& name, const std::string& kind,
                       std::span<const Activation> inputs, const LayerWork& forward,
                       const LayerWork& backward) {
  const auto n = static_cast<double>(inputs.front().elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = kind;
  layer.forward = {.elements = forward.elements * n, .kernels = forward.kernels};
  layer.backward = {.elements = backward.elements * n, .kernels = backward.kernels};
  layer.keeps_input = true;
  return net.custom(std::move(layer), inputs, inputs.front());
}

Activation smooth(ModelBuilder& net, const std::string& name, const Activation& input) {
  return elementwise(net, name, "act", {{input}}, {.elements = 2}, {.elements = 3});
}

}  // namespace gradwire
