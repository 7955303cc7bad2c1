#include "sim/models/lstm.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr int layers = 2;
constexpr std::int64_t hidden = 1500;
constexpr std::int64_t gates = 4 * hidden;  // input, forget, cell, output

ParameterSpec tensor(const std::string& name, std::vector<std::int64_t> shape) {
  return {.name = name, .shape = std::move(shape), .ready = {}};
}

/// One layer over all steps. A step multiplies [x, h] with both weights, then the gates make the
/// new cell and output: two kernels forward, three backward (assumed: a cuDNN that fuses no
/// further). The four gradients end with the last step, in the order that Espresso's list has.
Activation lstm(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto steps = static_cast<int>(input.height);
  const std::int64_t depth = input.channels + hidden;
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  // a step reads x, h and c, writes the gates, reads them, writes c and h
  const std::int64_t moved = depth + 2 * gates + 3 * hidden;
  layer.forward = {.flops = 2.0 * static_cast<double>(steps * gates * depth),
                   .elements = static_cast<double>(steps * moved),
                   .kernels = 2 * steps};
  layer.backward = {.flops = 2 * layer.forward.flops,
                    .elements = 2 * layer.forward.elements,
                    .kernels = 3 * steps};
  layer.weights_read_again = static_cast<double>((steps - 1) * gates * hidden);
  layer.product = MatrixShape{.rows = 1, .columns = gates, .depth = depth, .count = steps};
  layer.parameters = {tensor(name + ".weight_ih_l0", {gates, input.channels}),
                      tensor(name + ".weight_hh_l0", {gates, hidden}),
                      tensor(name + ".bias_ih_l0", {gates}), tensor(name + ".bias_hh_l0", {gates})};
  Activation output = input;
  output.channels = hidden;
  return net.custom(std::move(layer), {{input}}, output, {0, 1, 3, 2});
}

}  // namespace

ModelDescription lstm_ptb(const ModelOptions& options) {
  const std::int64_t vocabulary = options.vocabulary.value_or(ptb_vocabulary);
  ModelBuilder net("lstm_ptb",
                   "Zaremba et al., arXiv 1409.2329, large; tensors named as in the profile of "
                   "Espresso (byteps, branch Espresso)");
  Activation x = net.tokens(options.sequence_length.value_or(ptb_steps));
  x = net.embedding("encoder", x, vocabulary, hidden);
  x = net.dropout("dropout", x);
  for (int layer = 0; layer < layers; ++layer) {
    x = lstm(net, fmt::format("rnns.{}", layer), x);
    x = net.dropout(fmt::format("dropout.{}", layer), x);
  }
  x = options.tied.value_or(false) ? net.tied_linear("decoder", x, vocabulary, "decoder.bias")
                                   : net.linear("decoder", x, vocabulary);
  net.softmax("loss", x);
  return net.finish();
}

}  // namespace gradwire
