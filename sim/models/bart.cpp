#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/seq2seq_layers.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t position_rows = bart_positions + 2;  // two stand for padding

/// Words and learned positions, normed.
Activation embed(ModelBuilder& net, const std::string& name, const Activation& tokens,
                 const Activation& words) {
  const Activation places =
      net.embedding(name + ".embed_positions", tokens, position_rows, words.channels);
  Activation x = net.add(name + ".add_position", words, places);
  x = net.layer_norm(name + ".layernorm_embedding", x);
  return net.dropout(name + ".dropout", x);
}

ModelDescription bart(const std::string& name, const ModelOptions& options) {
  const Widths widths = widths_of(name, options);
  const Seq2SeqShape shape = {.hidden = widths.hidden,
                              .inner = widths.ffn,
                              .heads = widths.heads,
                              .flash = options.attention == "flash"};
  ModelBuilder net(name,
                   "Lewis et al., arXiv 1910.13461; HuggingFace transformers modeling_bart.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(roberta_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(bert_positions);
  const Activation source = net.tokens(length);
  Activation memory =
      embed(net, "encoder", source, net.embedding("shared", source, vocabulary, shape.hidden));
  for (int layer = 0; layer < widths.layers; ++layer) {
    memory = encoder_layer(net, fmt::format("encoder.layers.{}", layer), memory, shape);
  }
  const Activation target = net.tokens(length);
  Activation x = embed(net, "decoder", target,
                       net.tied_embedding("decoder.embed_tokens", target, shape.hidden));
  for (int layer = 0; layer < widths.layers; ++layer) {
    x = decoder_layer(net, fmt::format("decoder.layers.{}", layer), x, memory, shape);
  }
  // final_logits_bias, a buffer in fp32, makes fp32 of them
  net.loss("loss", net.tied_linear("lm_head", x, vocabulary), true);
  for (const std::string half : {"encoder", "decoder"}) {
    net.register_before(half + ".layers", half + ".layernorm_embedding");
  }
  return net.finish();
}

}  // namespace

ModelDescription bart_base(const ModelOptions& options) {
  return bart("bart_base", options);
}

ModelDescription bart_large(const ModelOptions& options) {
  return bart("bart_large", options);
}

}  // namespace gradwire
