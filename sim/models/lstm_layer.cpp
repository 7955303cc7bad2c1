#include "sim/models/lstm_layer.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace gradwire {
namespace {

ParameterSpec gate_tensor(const std::string& name, std::vector<std::int64_t> shape) {
  return {.name = name, .shape = std::move(shape), .ready = {}};
}

}  // namespace

Activation lstm_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                      const LstmShape& shape) {
  const int directions = shape.bidirectional ? 2 : 1;
  const int steps = directions * static_cast<int>(input.height);
  const std::int64_t hidden = shape.hidden;
  const std::int64_t gates = 4 * hidden;  // input, forget, cell, output
  const std::int64_t recurrent = shape.recurrent > 0 ? shape.recurrent : hidden;
  const std::int64_t depth = input.channels + recurrent;
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  // a step reads x, h and c, writes the gates, reads them, writes c and h
  const std::int64_t moved = depth + 2 * gates + 3 * hidden;
  layer.forward = {.flops = 2.0 * static_cast<double>(steps * gates * depth),
                   .elements = static_cast<double>(steps * moved),
                   .kernels = 2 * steps};
  layer.backward = {.flops = 2 * layer.forward.flops,
                    .elements = 2 * layer.forward.elements,
                    .kernels = 3 * steps};
  layer.weights_read_again = static_cast<double>((steps - directions) * gates * recurrent);
  layer.product = MatrixShape{.rows = 1, .columns = gates, .depth = depth, .count = steps};
  std::vector<int> ready;
  for (int direction = 0; direction < directions; ++direction) {
    const auto named = [&](const char* part) {
      return fmt::format("{}.{}_l0{}", name, part, direction == 0 ? "" : "_reverse");
    };
    const int first = static_cast<int>(layer.parameters.size());
    if (shape.joined) {
      layer.parameters.push_back(gate_tensor(name + ".W", {depth, gates}));
      layer.parameters.push_back(gate_tensor(name + ".B", {gates}));
      ready.insert(ready.end(), {first + 1, first});
      continue;
    }
    layer.parameters.push_back(gate_tensor(named("weight_ih"), {gates, input.channels}));
    layer.parameters.push_back(gate_tensor(named("weight_hh"), {gates, recurrent}));
    layer.parameters.push_back(gate_tensor(named("bias_ih"), {gates}));
    layer.parameters.push_back(gate_tensor(named("bias_hh"), {gates}));
    for (const int place : {0, 1, 3, 2}) ready.push_back(first + place);
  }
  Activation output = input;
  output.channels = directions * hidden;
  return net.custom(std::move(layer), {{input}}, output, std::move(ready));
}

}  // namespace gradwire
