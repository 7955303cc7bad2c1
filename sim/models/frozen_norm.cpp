#include "sim/models/frozen_norm.hpp"

#include <utility>

namespace gradwire {

Activation frozen_norm(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto n = static_cast<double>(input.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = 4 * n, .kernels = 7};
  layer.backward = {.elements = 2 * n};
  net.add_buffers(4, 4 * input.channels);
  return net.custom(std::move(layer), {{input}}, input);
}

}  // namespace gradwire
