#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/seq2seq_layers.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

/// Scaled by sqrt(hidden), positions added (sections 3.4 and 3.5).
Activation embed(ModelBuilder& net, const std::string& name, const Activation& words) {
  const Activation x = net.scale(name + ".embed_scale", words);
  return net.dropout(name + ".dropout", net.add_constant(name + ".embed_positions", x));
}

ModelDescription transformer(const std::string& name, const std::string& source,
                             const ModelOptions& options) {
  const Widths widths = widths_of(name, options);
  const Seq2SeqShape shape = {.hidden = widths.hidden, .inner = widths.ffn, .heads = widths.heads};
  const std::int64_t vocabulary = options.vocabulary.value_or(wmt_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(wmt_sequence_length);
  const bool tied = options.tied.value_or(true);
  ModelBuilder net(name, source);
  Activation memory =
      net.embedding("encoder.embed_tokens", net.tokens(length), vocabulary, shape.hidden);
  memory = embed(net, "encoder", memory);
  for (int layer = 0; layer < widths.layers; ++layer) {
    memory = encoder_layer(net, fmt::format("encoder.layers.{}", layer), memory, shape);
  }
  const std::string table = "decoder.embed_tokens";
  const Activation target = net.tokens(length);
  Activation x = tied ? net.tied_embedding(table, target, shape.hidden)
                      : net.embedding(table, target, vocabulary, shape.hidden);
  x = embed(net, "decoder", x);
  for (int layer = 0; layer < widths.layers; ++layer) {
    x = decoder_layer(net, fmt::format("decoder.layers.{}", layer), x, memory, shape);
  }
  const std::string projection = "decoder.output_projection";
  x = tied ? net.tied_linear(projection, x, vocabulary)
           : net.linear(projection, x, vocabulary, ModelBuilder::Bias::none);
  net.loss("loss", x);
  return net.finish();
}

}  // namespace

// Table 3 of the paper, rows "base" and "big".
ModelDescription transformer_wmt(const ModelOptions& options) {
  return transformer("transformer_wmt",
                     "Vaswani et al., arXiv 1706.03762, base; fairseq transformer_wmt_en_de",
                     options);
}

ModelDescription transformer_big(const ModelOptions& options) {
  return transformer("transformer_big",
                     "Vaswani et al., arXiv 1706.03762, big; fairseq transformer_wmt_en_de_big",
                     options);
}

}  // namespace gradwire
