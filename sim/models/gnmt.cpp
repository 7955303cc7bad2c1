#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/lstm_layer.hpp"

namespace gradwire {
namespace {

constexpr int gnmt_layers = 4;
constexpr std::int64_t gnmt_hidden = 1024;

ParameterSpec lstm_tensor(const std::string& name, std::int64_t elements) {
  return {.name = name, .shape = {elements}, .ready = {}};
}

/// Scores v . tanh(q + k + b) of every pair of tokens: the sums (two kernels, 3 N: a broadcast
/// reads little), tanh (2 N) and the product with v (N) pass over pairs x hidden elements; backward
/// the product's (2 N), tanh's (3 N) and the sums over either side and all (3 N).
Activation scores(ModelBuilder& net, const std::string& name, const Activation& query,
                  const Activation& key) {
  const double n = static_cast<double>(query.elements()) * static_cast<double>(key.height);
  ModelLayer layer;
  layer.name = name + ".scores";
  layer.kind = "act";
  layer.forward = {.elements = 6 * n, .kernels = 4};
  layer.backward = {.elements = 8 * n, .kernels = 5};
  layer.parameters = {lstm_tensor(name + ".linear_att", gnmt_hidden),
                      lstm_tensor(name + ".normalize_scalar", 1),
                      lstm_tensor(name + ".normalize_bias", gnmt_hidden)};
  net.register_before(name + ".linear_att", name + ".linear_q");
  net.register_before(name + ".normalize", name + ".linear_q");
  return net.custom(std::move(layer), {{query, key}},
                    {.channels = key.height, .height = query.height});
}

Activation bahdanau_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                              const Activation& memory) {
  const Activation query =
      net.linear(name + ".linear_q", input, gnmt_hidden, ModelBuilder::Bias::none);
  const Activation key =
      net.linear(name + ".linear_k", memory, gnmt_hidden, ModelBuilder::Bias::none);
  const Activation shares = net.softmax(name + ".softmax", scores(net, name, query, key));
  return net.product(name + ".context", shares, memory,
                     {.rows = input.height, .columns = gnmt_hidden, .depth = memory.height});
}

Activation encode(ModelBuilder& net, const Activation& words) {
  Activation x = words;
  for (int layer = 0; layer < gnmt_layers; ++layer) {
    const std::string name = fmt::format("encoder.rnn_layers.{}", layer);
    const Activation residual = x;
    x = lstm_layer(net, name, net.dropout(name + ".dropout", x),
                   {.hidden = gnmt_hidden, .bidirectional = layer == 0});
    if (layer >= 2) x = net.add(name + ".add", x, residual);
  }
  return x;
}

Activation decode(ModelBuilder& net, const Activation& words, const Activation& memory) {
  Activation x = lstm_layer(net, "decoder.att_rnn.rnn", words, {.hidden = gnmt_hidden});
  const Activation context = bahdanau_attention(net, "decoder.att_rnn.attn", x, memory);
  for (int layer = 0; layer < gnmt_layers - 1; ++layer) {
    const std::string name = fmt::format("decoder.rnn_layers.{}", layer);
    const Activation residual = x;
    x = net.concat(name + ".cat", {{net.dropout(name + ".dropout", x), context}});
    x = lstm_layer(net, name, x, {.hidden = gnmt_hidden});
    if (layer > 0) x = net.add(name + ".add", x, residual);
  }
  return x;
}

}  // namespace

ModelDescription gnmt(const ModelOptions& options) {
  const std::int64_t vocabulary = options.vocabulary.value_or(gnmt_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(wmt_sequence_length);
  ModelBuilder net("gnmt",
                   "Wu et al., arXiv 1609.08144; NVIDIA's DeepLearningExamples, "
                   "PyTorch/Translation/GNMT");
  const Activation words =
      net.embedding("encoder.embedder", net.tokens(length), vocabulary, gnmt_hidden);
  const Activation memory = encode(net, words);
  const Activation target = net.tied_embedding("decoder.embedder", net.tokens(length), gnmt_hidden);
  const Activation x = decode(net, target, memory);
  net.loss("loss", net.linear("decoder.classifier.classifier", x, vocabulary));
  net.register_before("encoder.rnn_layers", "encoder.embedder");
  return net.finish();
}

}  // namespace gradwire
