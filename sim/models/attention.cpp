#include "sim/models/attention.hpp"

namespace gradwire {

Activation attend(ModelBuilder& net, const std::string& name, const Activation& query,
                  const Activation& key, const Activation& value, const AttentionShape& shape) {
  const std::int64_t depth = query.channels / shape.heads;
  Activation x = net.product(
      name + ".scores", query, key,
      {.rows = query.height, .columns = key.height, .depth = depth, .count = shape.heads});
  x = net.scale(name + ".scale", x);
  x = shape.mask == Mask::added ? net.add_constant(name + ".mask", x) : net.copy(name + ".mask", x);
  x = net.softmax(name + ".softmax", x);
  if (shape.weight_dropout) x = net.dropout(name + ".dropout", x);
  x = net.product(
      name + ".context", x, value,
      {.rows = query.height, .columns = depth, .depth = key.height, .count = shape.heads});
  return net.copy(name + ".merge_heads", x);
}

}  // namespace gradwire
