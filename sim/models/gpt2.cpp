#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

struct GptShape {
  Widths widths;
  bool flash = false;
};

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) as NewGELUActivation computes it, operator by
/// operator: pow, mul, add, mul, tanh, add, mul, mul; and what autograd runs for them.
Activation gelu_of_operators(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto elements = static_cast<double>(input.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "act";
  layer.autocast_in_fp32 = true;
  // beside input and result the factors of the last product and the tanh; under autocast also the
  // input as pow has it in fp32, but the half in 2 bytes and the input in 2: as much
  layer.kept_bytes = 12 * elements;
  layer.forward = {.elements = 18 * elements, .kernels = 8};  // two of the eight read two tensors
  // last product 6, half 2, tanh 3, two factors 2 each, cube 7, two sums of gradients 3 each
  layer.backward = {.elements = 28 * elements, .kernels = 11};
  layer.compiled =
      PassWork{.forward = {.elements = 2 * elements}, .backward = {.elements = 3 * elements}};
  return net.custom(std::move(layer), {{input}}, input);
}

Activation gpt2_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                          const GptShape& network) {
  const Activation joined =
      net.transposed_linear(name + ".c_attn", input, 3 * network.widths.hidden);
  const auto parts = net.split(name + ".split", joined, 3);
  const std::int64_t size = network.widths.hidden / network.widths.heads;
  Activation x =
      network.flash
          ? flash_attend(net, name, parts[0], parts[1], parts[2],
                         {.heads = network.widths.heads, .size = size, .value_size = size})
          : attend(net, name, parts[0], parts[1], parts[2],
                   {.heads = network.widths.heads, .mask = Mask::selected});
  // register_buffer("bias"), whatever attends.
  net.add_mask(std::int64_t{gpt2_positions} * gpt2_positions);
  x = net.transposed_linear(name + ".c_proj", x, network.widths.hidden);
  return net.dropout(name + ".resid_dropout", x);
}

Activation gpt2_block(ModelBuilder& net, const std::string& name, const Activation& input,
                      const GptShape& network) {
  Activation x = net.layer_norm(name + ".ln_1", input);
  x = gpt2_attention(net, name + ".attn", x, network);
  const Activation residual = net.add(name + ".add_1", x, input);
  x = net.layer_norm(name + ".ln_2", residual);
  x = net.transposed_linear(name + ".mlp.c_fc", x, network.widths.ffn);
  x = gelu_of_operators(net, name + ".mlp.act", x);
  x = net.transposed_linear(name + ".mlp.c_proj", x, network.widths.hidden);
  x = net.dropout(name + ".mlp.dropout", x);
  return net.add(name + ".add_2", residual, x);
}

ModelDescription gpt(const std::string& name, const ModelOptions& options) {
  const GptShape network{.widths = widths_of(name, options), .flash = options.attention == "flash"};
  ModelBuilder net(network.widths.name,
                   "Radford et al. 2019; HuggingFace transformers modeling_gpt2.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(gpt2_vocabulary);
  const Activation tokens = net.tokens(options.sequence_length.value_or(gpt2_positions));
  const Activation words =
      net.embedding("transformer.wte", tokens, vocabulary, network.widths.hidden);
  const Activation places =
      net.embedding("transformer.wpe", tokens, gpt2_positions, network.widths.hidden);
  Activation x = net.dropout("transformer.drop", net.add("transformer.add", words, places));
  for (int layer = 0; layer < network.widths.layers; ++layer) {
    x = gpt2_block(net, fmt::format("transformer.h.{}", layer), x, network);
  }
  x = net.layer_norm("transformer.ln_f", x);
  x = options.tied.value_or(true) ? net.tied_linear("lm_head", x, vocabulary)
                                  : net.linear("lm_head", x, vocabulary, ModelBuilder::Bias::none);
  net.loss("loss", net.copy("shift_logits", x), true);  // loss/loss_utils.py, ForCausalLMLoss
  return net.finish();
}

}  // namespace

ModelDescription gpt2(const ModelOptions& options) {
  return gpt("gpt2", options);
}

ModelDescription gpt2_medium(const ModelOptions& options) {
  return gpt("gpt2_medium", options);
}

ModelDescription gpt2_large(const ModelOptions& options) {
  return gpt("gpt2_large", options);
}

ModelDescription gpt2_xl(const ModelOptions& options) {
  return gpt("gpt2_xl", options);
}

}  // namespace gradwire
