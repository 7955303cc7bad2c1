#include "sim/models/attention.hpp"

#include <utility>

namespace gradwire {

Activation attend(ModelBuilder& net, const std::string& name, const Activation& query,
                  const Activation& key, const Activation& value, const AttentionShape& shape) {
  const std::int64_t depth = query.channels / shape.heads;
  Activation x = net.product(
      name + ".scores", query, key,
      {.rows = query.height, .columns = key.height, .depth = depth, .count = shape.heads});
  if (shape.scaled) x = net.scale(name + ".scale", x);
  if (shape.bias) {
    x = net.add(name + ".bias", x, *shape.bias);
  } else {
    x = shape.mask == Mask::added ? net.add_constant(name + ".mask", x)
                                  : net.copy(name + ".mask", x);
  }
  x = net.softmax(name + ".softmax", x);
  if (shape.weight_dropout) x = net.dropout(name + ".dropout", x);
  x = net.product(
      name + ".context", x, value,
      {.rows = query.height, .columns = depth, .depth = key.height, .count = shape.heads});
  return net.copy(name + ".merge_heads", x);
}

Activation flash_attend(ModelBuilder& net, const std::string& name, const Activation& query,
                        const Activation& key, const Activation& value, FusedAttention shape) {
  const Activation output = {.channels = shape.heads * shape.value_size, .height = query.height};
  shape.queries = query.height;
  shape.keys = key.height;
  const double scores =
      static_cast<double>(shape.queries * shape.keys * shape.heads) * (shape.causal ? 0.5 : 1);
  const auto size = static_cast<double>(shape.size);
  const auto value_size = static_cast<double>(shape.value_size);
  const auto moved =
      static_cast<double>(query.elements() + key.elements() + value.elements() + output.elements());
  ModelLayer layer;
  layer.name = name + ".flash";
  layer.kind = "linear";
  layer.fused_attention = shape;
  layer.forward = {.flops = 2 * scores * (size + value_size), .elements = moved};
  // scores again, gradients of keys and queries: size each; of values and of weights: value_size
  layer.backward = {
      .flops = 2 * scores * (3 * size + 2 * value_size), .elements = 2 * moved, .kernels = 3};
  return net.custom(std::move(layer), {{query, key, value}}, output);
}

}  // namespace gradwire
