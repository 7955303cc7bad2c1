#include "sim/models/text_models.hpp"

#include "sim/models/bert_encoder.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t roberta_positions = bert_positions + 2;  // two stand for padding

ModelDescription roberta(const BertShape& network, const ModelOptions& options) {
  ModelBuilder net(network.widths.name,
                   "Liu et al., arXiv 1907.11692; HuggingFace transformers modeling_roberta.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(roberta_vocabulary);
  const Activation tokens = net.tokens(options.sequence_length.value_or(bert_positions));
  Activation x = bert_encoder(net, tokens, network, vocabulary, options.attention);
  x = net.gelu("lm_head.gelu", net.linear("lm_head.dense", x, network.widths.hidden));
  x = net.layer_norm("lm_head.layer_norm", x);
  x = net.tied_linear("lm_head.decoder", x, vocabulary, "lm_head.bias");
  net.loss("loss", x);
  net.register_before("lm_head.bias", "lm_head.dense");
  return net.finish();
}

}  // namespace

ModelDescription roberta_base(const ModelOptions& options) {
  return roberta({.widths = widths_of("roberta_base", options),
                  .prefix = "roberta",
                  .positions = roberta_positions,
                  .token_types = 1},
                 options);
}

ModelDescription roberta_large(const ModelOptions& options) {
  return roberta({.widths = widths_of("roberta_large", options),
                  .prefix = "roberta",
                  .positions = roberta_positions,
                  .token_types = 1},
                 options);
}

}  // namespace gradwire
