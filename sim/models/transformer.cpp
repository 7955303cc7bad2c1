#include "sim/models/transformer.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

// Table 3 of the paper, row "base".
constexpr int layers = 6;
constexpr std::int64_t hidden = 512;
constexpr std::int64_t inner = 2048;
constexpr std::int64_t heads = 8;

/// Scaled by sqrt(hidden), positions added (sections 3.4 and 3.5).
Activation embed(ModelBuilder& net, const std::string& name, const Activation& words) {
  const Activation x = net.scale(name + ".embed_scale", words);
  return net.dropout(name + ".dropout", net.add_constant(name + ".embed_positions", x));
}

/// @param memory  what keys and values are made of: `input` itself, or the encoder's output.
Activation attention(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Activation& memory) {
  const Activation query = net.linear(name + ".q_proj", input, hidden);
  const Activation key = net.linear(name + ".k_proj", memory, hidden);
  const Activation value = net.linear(name + ".v_proj", memory, hidden);
  net.register_before(name + ".k_proj", name + ".q_proj");
  net.register_before(name + ".v_proj", name + ".q_proj");
  const Activation x =
      attend(net, name, query, key, value, {.heads = heads, .weight_dropout = false});
  return net.linear(name + ".out_proj", x, hidden);
}

/// Dropout, residual and norm behind each sublayer.
Activation close(ModelBuilder& net, const std::string& name, const Activation& x,
                 const Activation& residual) {
  const Activation sum = net.add(name + ".add", net.dropout(name + ".dropout", x), residual);
  return net.layer_norm(name + "_layer_norm", sum);
}

Activation feed_forward(ModelBuilder& net, const std::string& name, const Activation& input) {
  Activation x = net.act(name + ".relu", net.linear(name + ".fc1", input, inner));
  x = net.linear(name + ".fc2", x, hidden);
  return close(net, name + ".final", x, input);
}

Activation encoder_layer(ModelBuilder& net, const std::string& name, const Activation& input) {
  const std::string self = name + ".self_attn";
  const Activation x = close(net, self, attention(net, self, input, input), input);
  return feed_forward(net, name, x);
}

Activation decoder_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                         const Activation& memory) {
  const std::string self = name + ".self_attn";
  const std::string cross = name + ".encoder_attn";
  Activation x = close(net, self, attention(net, self, input, input), input);
  x = close(net, cross, attention(net, cross, x, memory), x);
  return feed_forward(net, name, x);
}

}  // namespace

ModelDescription transformer_wmt(const ModelOptions& options) {
  const std::int64_t vocabulary = options.vocabulary.value_or(wmt_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(wmt_sequence_length);
  const bool tied = options.tied.value_or(true);
  ModelBuilder net("transformer_wmt",
                   "Vaswani et al., arXiv 1706.03762, base; fairseq transformer_wmt_en_de");
  Activation memory = net.embedding("encoder.embed_tokens", net.tokens(length), vocabulary, hidden);
  memory = embed(net, "encoder", memory);
  for (int layer = 0; layer < layers; ++layer) {
    memory = encoder_layer(net, fmt::format("encoder.layers.{}", layer), memory);
  }
  const std::string table = "decoder.embed_tokens";
  const Activation target = net.tokens(length);
  Activation x = tied ? net.tied_embedding(table, target, hidden)
                      : net.embedding(table, target, vocabulary, hidden);
  x = embed(net, "decoder", x);
  for (int layer = 0; layer < layers; ++layer) {
    x = decoder_layer(net, fmt::format("decoder.layers.{}", layer), x, memory);
  }
  const std::string projection = "decoder.output_projection";
  x = tied ? net.tied_linear(projection, x, vocabulary)
           : net.linear(projection, x, vocabulary, ModelBuilder::Bias::none);
  net.softmax("loss", x);
  return net.finish();
}

}  // namespace gradwire
