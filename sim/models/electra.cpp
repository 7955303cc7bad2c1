#include "sim/models/text_models.hpp"

#include "sim/models/bert_encoder.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

ModelDescription electra(const BertShape& network, const ModelOptions& options) {
  ModelBuilder net(network.widths.name,
                   "Clark et al., arXiv 2003.10555; HuggingFace transformers modeling_electra.py");
  const Activation tokens = net.tokens(options.sequence_length.value_or(bert_positions));
  Activation x = bert_encoder(net, tokens, network, options.vocabulary.value_or(bert_vocabulary),
                              options.attention);
  const std::string head = options.head.value_or(electra_heads().front());
  if (head == "qa") net.linear("qa_outputs", x, 2);  // logits of the answer's begin and end
  if (head == "discrimination") {
    const std::string name = "discriminator_predictions";
    x = net.linear(name + ".dense", x, x.channels);
    net.linear(name + ".dense_prediction", net.gelu(name + ".gelu", x), 1);
  }
  return net.finish();
}

}  // namespace

const std::vector<std::string>& electra_heads() {
  static const std::vector<std::string> heads = {"discrimination", "qa", "none"};
  return heads;
}

ModelDescription electra_base(const ModelOptions& options) {
  return electra({.widths = widths_of("electra_base", options), .prefix = "electra"}, options);
}

ModelDescription electra_large(const ModelOptions& options) {
  return electra({.widths = widths_of("electra_large", options), .prefix = "electra"}, options);
}

}  // namespace gradwire
