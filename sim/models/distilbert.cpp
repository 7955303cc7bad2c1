#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t label_count = 2;  // of a sentence (SST-2), or begin and end of an answer

Activation distilbert_embeddings(ModelBuilder& net, const Activation& tokens,
                                 std::int64_t vocabulary, std::int64_t hidden) {
  const std::string name = "distilbert.embeddings";
  const Activation words = net.embedding(name + ".word_embeddings", tokens, vocabulary, hidden);
  const Activation places =
      net.embedding(name + ".position_embeddings", tokens, bert_positions, hidden);
  const Activation sum = net.add(name + ".add", words, places);
  return net.dropout(name + ".dropout", net.layer_norm(name + ".LayerNorm", sum));
}

/// The queries are scaled, not the scores; masked_fill picks among these.
Activation distilbert_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                                const Widths& widths, bool flash) {
  const std::int64_t hidden = widths.hidden;
  const std::int64_t heads = widths.heads;
  const Activation query = net.linear(name + ".q_lin", input, hidden);
  const Activation key = net.linear(name + ".k_lin", input, hidden);
  const Activation value = net.linear(name + ".v_lin", input, hidden);
  const std::int64_t size = hidden / heads;
  const Activation x =
      flash ? flash_attend(net, name, query, key, value,
                           {.heads = heads, .size = size, .value_size = size, .causal = false})
            : attend(net, name, net.scale(name + ".scale", query), key, value,
                     {.heads = heads, .mask = Mask::selected, .scaled = false});
  return net.linear(name + ".out_lin", x, hidden);
}

Activation distilbert_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                            const Widths& widths, bool flash) {
  Activation x = distilbert_attention(net, name + ".attention", input, widths, flash);
  const Activation seen =
      net.layer_norm(name + ".sa_layer_norm", net.add(name + ".sa_add", x, input));
  x = net.gelu(name + ".ffn.gelu", net.linear(name + ".ffn.lin1", seen, widths.ffn));
  x = net.dropout(name + ".ffn.dropout", net.linear(name + ".ffn.lin2", x, widths.hidden));
  return net.layer_norm(name + ".output_layer_norm", net.add(name + ".output_add", x, seen));
}

void add_head(ModelBuilder& net, const Activation& sequence, const std::string& head,
              std::int64_t vocabulary) {
  if (head == "mlm") {
    Activation x = net.linear("vocab_transform", sequence, sequence.channels);
    x = net.layer_norm("vocab_layer_norm", net.gelu("vocab_gelu", x));
    x = net.tied_linear("vocab_projector", x, vocabulary, "vocab_projector.bias");
    net.loss("loss", x);
  } else if (head == "classification") {
    Activation x = net.gather("first_token", sequence, 1);
    x = net.act("pre_classifier_relu", net.linear("pre_classifier", x, sequence.channels));
    net.linear("classifier", net.dropout("dropout", x), label_count);
  } else if (head == "qa") {
    net.linear("qa_outputs", net.dropout("dropout", sequence), label_count);
  }
}

}  // namespace

const std::vector<std::string>& distilbert_heads() {
  static const std::vector<std::string> values = {"mlm", "classification", "qa", "none"};
  return values;
}

ModelDescription distilbert_base(const ModelOptions& options) {
  const Widths widths = widths_of("distilbert_base", options);
  ModelBuilder net(widths.name,
                   "Sanh et al., arXiv 1910.01108; HuggingFace transformers "
                   "modeling_distilbert.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(bert_vocabulary);
  const Activation tokens = net.tokens(options.sequence_length.value_or(bert_sequence_length));
  Activation x = distilbert_embeddings(net, tokens, vocabulary, widths.hidden);
  for (int layer = 0; layer < widths.layers; ++layer) {
    x = distilbert_layer(net, fmt::format("distilbert.transformer.layer.{}", layer), x, widths,
                         options.attention == "flash");
  }
  add_head(net, x, options.head.value_or(distilbert_heads().front()), vocabulary);
  return net.finish();
}

}  // namespace gradwire
