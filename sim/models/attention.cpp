#include "sim/models/attention.hpp"

#include <utility>

namespace gradwire {
namespace {

/// Looked up for all, added (2 N); backward the sum over windows and samples (N), and back into the
/// table.
Activation add_table(ModelBuilder& net, const std::string& name, const Activation& scores,
                     const ParameterSpec& table) {
  const auto n = static_cast<double>(scores.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = 2 * n, .kernels = 2};
  layer.backward = {.elements = n, .kernels = 2};
  layer.parameters = {table};
  return net.custom(std::move(layer), {{scores}}, scores);
}

Activation masked(ModelBuilder& net, const std::string& name, const Activation& scores, Mask mask) {
  if (mask == Mask::none) return scores;
  return mask == Mask::added ? net.add_constant(name, scores) : net.copy(name, scores);
}

}  // namespace

Activation attend(ModelBuilder& net, const std::string& name, const Activation& query,
                  const Activation& key, const Activation& value, const AttentionShape& shape) {
  const std::int64_t depth = query.channels / shape.heads;
  const std::int64_t rows = query.height / shape.windows;
  const std::int64_t columns = key.height / shape.windows;
  const std::int64_t products = shape.heads * shape.windows;
  Activation x = net.product(name + ".scores", query, key,
                             {.rows = rows, .columns = columns, .depth = depth, .count = products});
  if (shape.scaled) x = net.scale(name + ".scale", x);
  if (shape.table) x = add_table(net, name + ".bias", x, *shape.table);
  if (shape.bias) x = net.add(name + ".bias", x, *shape.bias);
  if (!shape.bias || shape.bias_then_mask) x = masked(net, name + ".mask", x, shape.mask);
  x = net.softmax(name + ".softmax", x);
  if (shape.weight_dropout) x = net.dropout(name + ".dropout", x);
  x = net.product(name + ".context", x, value,
                  {.rows = rows, .columns = depth, .depth = columns, .count = products});
  x.channels = query.channels;
  x.height = query.height;
  return net.merge_heads(name + ".merge_heads", x);
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
