#include <cassert>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/primitives.hpp"

// Layers that move elements: activations, losses, sums, copies.

namespace gradwire {

Activation ModelBuilder::act(const std::string& name, const Activation& input) {
  return simple(name, "act", input, input, 2 * input.count(), 3 * input.count());
}

Activation ModelBuilder::gelu(const std::string& name, const Activation& input) {
  ModelLayer layer =
      operation(name, "act", {.elements = 2 * input.count()}, {.elements = 3 * input.count()});
  layer.keeps_input = true;
  layer.primitive = primitive_gelu(input.count());
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::bloom_gelu(const std::string& name, const Activation& input) {
  const double n = input.count();
  ModelLayer layer = operation(name, "act", {.elements = 21 * n, .kernels = 9},
                               {.elements = 44 * n, .kernels = 18});
  layer.compiled = PassWork{.forward = {.elements = 2 * n}, .backward = {.elements = 3 * n}};
  layer.keeps_input = true;
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::smooth_act(const std::string& name, const Activation& input) {
  const double n = input.count();
  ModelLayer layer = operation(name, "act", {.elements = 4 * n, .kernels = 2}, {.elements = 3 * n});
  layer.compiled = PassWork{.forward = {.elements = 2 * n}, .backward = {.elements = 3 * n}};
  layer.keeps_input = true;
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::softmax(const std::string& name, const Activation& input) {
  const double n = input.count();
  ModelLayer layer = operation(name, "softmax", {.elements = 2 * n}, {.elements = 3 * n});
  layer.casts = 2 * n;                // in, and out to the product behind it
  layer.autocast_kept_bytes = 4 * n;  // its result in fp32 beside the cast one
  layer.primitive = primitive_softmax(n);
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::loss(const std::string& name, const Activation& logits, bool upcast) {
  const double n = logits.count();
  ModelLayer layer = operation(name, "softmax", {.elements = 2 * n}, {.elements = 3 * n});
  layer.in_fp32 = true;
  layer.casts = n;
  layer.upcast = upcast;
  return custom(std::move(layer), {{logits}}, logits);
}

Activation ModelBuilder::dropout(const std::string& name, const Activation& input) {
  const bool to_input = !is_input(input);
  const double n = input.count();
  ModelLayer layer = operation(name, "other", {.elements = 2 * n},
                               {.elements = to_input ? 2 * n : 0, .kernels = to_input ? 1 : 0});
  layer.primitive = primitive_dropout(n, to_input);
  layer.kept_bytes = n;  // native_dropout's mask, of bool
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::scale(const std::string& name, const Activation& input) {
  return simple(name, "other", input, input, 2 * input.count(), 2 * input.count());
}

Activation ModelBuilder::add_constant(const std::string& name, const Activation& input) {
  return simple(name, "other", input, input, 2 * input.count(), 0);
}

Activation ModelBuilder::stochastic_depth(const std::string& name, const Activation& input) {
  const double n = input.count();
  return custom(operation(name, "other", {.elements = 2 * n, .kernels = 3}, {.elements = 2 * n}),
                {{input}}, input);
}

Activation ModelBuilder::copy(const std::string& name, const Activation& input) {
  return simple(name, "other", input, input, 2 * input.count(), 2 * input.count());
}

Activation ModelBuilder::merge_heads(const std::string& name, const Activation& input) {
  const double n = input.count();
  ModelLayer layer = operation(name, "other", {.elements = 2 * n}, {.elements = 2 * n});
  layer.primitive = primitive_heads(n);
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::add(const std::string& name, const Activation& left,
                             const Activation& right) {
  assert(left.elements() == right.elements());
  return custom(operation(name, "add", {.elements = 3 * left.count()}, {.kernels = 0}),
                {{left, right}}, left);
}

Activation ModelBuilder::concat(const std::string& name, std::span<const Activation> inputs) {
  assert(!inputs.empty());
  Activation output = inputs.front();
  output.channels = 0;
  for (const Activation& input : inputs) {
    assert(input.height == output.height && input.width == output.width);
    output.channels += input.channels;
  }
  return custom(operation(name, "other", {.elements = 2 * output.count()}, {.kernels = 0}), inputs,
                output);
}

std::vector<Activation> ModelBuilder::split(const std::string& name, const Activation& input,
                                            int parts) {
  assert(input.channels % parts == 0);
  Activation slice = input;
  slice.channels = input.channels / parts;
  ModelLayer layer = operation(name, "other", {.kernels = 0}, {.elements = 2 * input.count()});
  std::vector<Activation> slices = {custom(std::move(layer), {{input}}, slice)};
  while (static_cast<int>(slices.size()) < parts) slices.push_back(make_value(slice));
  return slices;
}

}  // namespace gradwire
