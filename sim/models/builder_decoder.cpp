#include <cassert>
#include <utility>

#include "sim/models/builder.hpp"

// Operators of today's decoders, which HuggingFace's transformers (modeling_llama.py) writes in
// several operators of PyTorch, and compilers and fused kernels in one.

namespace gradwire {
namespace {

ModelLayer layer_of(const std::string& name, const std::string& kind, const PassWork& eager,
                    const PassWork& compiled) {
  ModelLayer layer = operation(name, kind, eager.forward, eager.backward);
  layer.compiled = compiled;
  return layer;
}

}  // namespace

Activation ModelBuilder::rms_norm(const std::string& name, const Activation& input,
                                  std::int64_t width) {
  const auto n = static_cast<double>(input.elements());
  // backward: weight 2 and its gradient 5, from fp32 3, product 4 and the root's gradient 8, square
  // 4, sum of both gradients 6, to fp32 3
  ModelLayer layer =
      layer_of(name, "norm",
               {.forward = {.elements = 18 * n, .kernels = 8},
                .backward = {.elements = 35 * n, .kernels = 12}},
               {.forward = {.elements = 2 * n}, .backward = {.elements = 3 * n, .kernels = 2}});
  layer.autocast_kept_bytes = 6 * n;  // its input in 4 bytes, and the quotient in fp32
  layer.parameters = {
      {.name = name + ".weight", .shape = {width > 0 ? width : input.channels}, .ready = {}}};
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::rotary(const std::string& name, const Activation& input) {
  const auto n = static_cast<double>(input.elements());
  return custom(layer_of(name, "other",
                         {.forward = {.elements = 10 * n, .kernels = 5},
                          .backward = {.elements = 10 * n, .kernels = 5}},
                         {.forward = {.elements = 2 * n}, .backward = {.elements = 2 * n}}),
                {{input}}, input);
}

Activation ModelBuilder::gated_act(const std::string& name, const Activation& gate,
                                   const Activation& up) {
  assert(gate.elements() == up.elements());
  const auto n = static_cast<double>(gate.elements());
  return custom(layer_of(name, "act",
                         {.forward = {.elements = 5 * n, .kernels = 2},
                          .backward = {.elements = 9 * n, .kernels = 3}},
                         {.forward = {.elements = 3 * n}, .backward = {.elements = 5 * n}}),
                {{gate, up}}, gate);
}

Activation ModelBuilder::cross_entropy(const std::string& name, const Activation& logits) {
  const auto n = static_cast<double>(logits.elements());
  const PassWork work = {.forward = {.elements = 7 * n, .kernels = 2},
                         .backward = {.elements = 7 * n, .kernels = 2}};
  ModelLayer layer = layer_of(name, "softmax", work, work);
  layer.upcast = true;
  return custom(std::move(layer), {{logits}}, logits);
}

}  // namespace gradwire
