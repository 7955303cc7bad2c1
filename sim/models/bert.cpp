#include "sim/models/text_models.hpp"

#include "sim/models/bert_encoder.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

Activation pooler(ModelBuilder& net, const Activation& sequence) {
  const Activation first = net.gather("bert.pooler.first_token", sequence, 1);
  const Activation x = net.linear("bert.pooler.dense", first, sequence.channels);
  return net.act("bert.pooler.activation", x);
}

void language_head(ModelBuilder& net, const Activation& sequence, std::int64_t predictions,
                   std::int64_t vocabulary, bool tied) {
  const std::string name = "cls.predictions";
  Activation x = sequence;
  if (predictions < sequence.height) x = net.gather(name + ".masked_positions", x, predictions);
  x = net.linear(name + ".transform.dense", x, sequence.channels);
  x = net.gelu(name + ".transform.gelu", x);
  x = net.layer_norm(name + ".transform.LayerNorm", x);
  if (tied) {
    x = net.tied_linear(name + ".decoder", x, vocabulary, name + ".bias");
  } else {
    x = net.linear(name + ".decoder", x, vocabulary, ModelBuilder::Bias::none);
    x = net.bias(name + ".bias", x);
  }
  net.loss(name + ".loss", x);
  net.register_before(name + ".bias", name + ".transform");
}

void head(ModelBuilder& net, const Activation& sequence, const ModelOptions& options,
          std::int64_t vocabulary) {
  const std::string kind = options.head.value_or(bert_heads().front());
  if (kind == "qa") {
    net.linear("qa_outputs", sequence, 2);  // logits of the answer's begin and end
    return;
  }
  const bool tied = options.tied.value_or(true);
  if (kind == "mlm") {
    language_head(net, sequence, sequence.height, vocabulary, tied);
    return;
  }
  Activation pooled = pooler(net, sequence);
  if (kind == "none") return;
  if (kind == "classification") {
    pooled = net.dropout("dropout", pooled);
    net.linear("classifier", pooled, options.classes.value_or(2));
    return;
  }
  const std::int64_t predictions =
      kind == "pretraining" ? bert_predictions(sequence.height) : sequence.height;
  language_head(net, sequence, predictions, vocabulary, tied);
  net.linear("cls.seq_relationship", pooled, 2);  // is it the next sentence
}

ModelDescription bert(const BertShape& network, const ModelOptions& options) {
  ModelBuilder net(network.widths.name,
                   "Devlin et al., arXiv 1810.04805; HuggingFace transformers 3.x "
                   "modeling_bert.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(bert_vocabulary);
  Activation x = net.tokens(options.sequence_length.value_or(bert_sequence_length));
  x = bert_encoder(net, x, network, vocabulary, options.attention);
  head(net, x, options, vocabulary);
  return net.finish();
}

}  // namespace

const std::vector<std::string>& bert_heads() {
  static const std::vector<std::string> heads = {
      "pretraining", "pretraining_all_positions", "mlm", "classification", "qa", "none"};
  return heads;
}

std::int64_t bert_predictions(std::int64_t sequence_length) {
  if (sequence_length == 128) return 20;
  if (sequence_length == 512) return 76;
  return (sequence_length * 15 + 99) / 100;
}

ModelDescription bert_base(const ModelOptions& options) {
  return bert({.widths = widths_of("bert_base", options)}, options);
}

ModelDescription bert_large(const ModelOptions& options) {
  return bert({.widths = widths_of("bert_large", options)}, options);
}

}  // namespace gradwire
