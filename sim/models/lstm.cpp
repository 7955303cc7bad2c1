#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/lstm_layer.hpp"

namespace gradwire {
namespace {

constexpr int zaremba_layers = 2;
constexpr std::int64_t zaremba_hidden = 1500;

}  // namespace

ModelDescription lstm_ptb(const ModelOptions& options) {
  const std::int64_t vocabulary = options.vocabulary.value_or(ptb_vocabulary);
  ModelBuilder net("lstm_ptb",
                   "Zaremba et al., arXiv 1409.2329, large; tensors named as in the profile of "
                   "Espresso (byteps, branch Espresso)");
  Activation x = net.tokens(options.sequence_length.value_or(ptb_steps));
  x = net.embedding("encoder", x, vocabulary, zaremba_hidden);
  x = net.dropout("dropout", x);
  for (int layer = 0; layer < zaremba_layers; ++layer) {
    x = lstm_layer(net, fmt::format("rnns.{}", layer), x, {.hidden = zaremba_hidden});
    x = net.dropout(fmt::format("dropout.{}", layer), x);
  }
  x = options.tied.value_or(false) ? net.tied_linear("decoder", x, vocabulary, "decoder.bias")
                                   : net.linear("decoder", x, vocabulary);
  net.loss("loss", x);
  return net.finish();
}

}  // namespace gradwire
