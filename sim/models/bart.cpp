#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/seq2seq_layers.hpp"

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

/// @param layers  of the encoder, and as many of the decoder.
ModelDescription bart(const std::string& name, int layers, Seq2SeqShape shape,
                      const ModelOptions& options) {
  shape.flash = options.attention == "flash";
  ModelBuilder net(name,
                   "Lewis et al., arXiv 1910.13461; HuggingFace transformers modeling_bart.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(roberta_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(bert_positions);
  const Activation source = net.tokens(length);
  Activation memory =
      embed(net, "encoder", source, net.embedding("shared", source, vocabulary, shape.hidden));
  for (int layer = 0; layer < layers; ++layer) {
    memory = encoder_layer(net, fmt::format("encoder.layers.{}", layer), memory, shape);
  }
  const Activation target = net.tokens(length);
  Activation x = embed(net, "decoder", target,
                       net.tied_embedding("decoder.embed_tokens", target, shape.hidden));
  for (int layer = 0; layer < layers; ++layer) {
    x = decoder_layer(net, fmt::format("decoder.layers.{}", layer), x, memory, shape);
  }
  net.loss("loss", net.tied_linear("lm_head", x, vocabulary));
  for (const std::string half : {"encoder", "decoder"}) {
    net.register_before(half + ".layers", half + ".layernorm_embedding");
  }
  return net.finish();
}

}  // namespace

ModelDescription bart_base(const ModelOptions& options) {
  return bart("bart_base", 6, {.hidden = 768, .inner = 3072, .heads = 12}, options);
}

ModelDescription bart_large(const ModelOptions& options) {
  return bart("bart_large", 12, {.hidden = 1024, .inner = 4096, .heads = 16}, options);
}

}  // namespace gradwire
