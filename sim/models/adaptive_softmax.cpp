#include "sim/models/adaptive_softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr int clusters = 4;

/// First word of each cluster, and the end (wt103_large.yaml, n_token and cutoffs).
constexpr std::array<std::int64_t, clusters + 1> ends = {0, 19'997, 39'997, 199'997,
                                                         wikitext_vocabulary};

std::int64_t words_of(int cluster) {
  const auto c = static_cast<std::size_t>(cluster);
  return ends[c + 1] - ends[c];
}

std::int64_t width_of(int cluster, const AdaptiveVocabulary& vocabulary) {
  std::int64_t width = vocabulary.hidden;
  for (int c = 0; c < cluster; ++c) width /= vocabulary.divisor;
  return width;
}

/// A matrix product whose weight, and bias, are tensors of whatever names.
/// @param copied  elements that each direction reads and writes to join its weight from parts.
Activation matrix(ModelBuilder& net, const std::string& name, const Activation& input,
                  std::int64_t out, std::vector<ParameterSpec> tensors, bool bias,
                  std::int64_t copied = 0) {
  Activation output = input;
  output.channels = out;
  const auto moved = static_cast<double>(input.elements() + output.elements());
  const double flops = 2.0 * static_cast<double>(input.elements() * out);
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  layer.product = MatrixShape{.rows = input.height, .columns = out, .depth = input.channels};
  layer.forward = {.flops = flops, .elements = moved};
  layer.backward = {.flops = 2 * flops, .elements = 2 * moved, .kernels = 2};
  if (bias) {
    layer.backward.elements += static_cast<double>(output.elements());
    ++layer.backward.kernels;
  }
  if (copied > 0) {
    layer.weights_read_again = static_cast<double>(copied);
    ++layer.forward.kernels;
    ++layer.backward.kernels;
  }
  layer.parameters = std::move(tensors);
  return net.custom(std::move(layer), {{input}}, output);
}

ParameterSpec tensor(const std::string& name, std::vector<std::int64_t> shape) {
  return {.name = name, .shape = std::move(shape), .ready = {}};
}

/// Zeros, and each cluster's vectors copied to their places; backward each picked out again.
Activation scattered(ModelBuilder& net, const std::string& name,
                     const std::vector<Activation>& parts, const Activation& whole) {
  const auto n = static_cast<double>(whole.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = 3 * n, .kernels = 1 + clusters};
  layer.backward = {.elements = 2 * n, .kernels = clusters};
  return net.custom(std::move(layer), parts, whole);
}

/// The clusters' slices of one table: backward of each writes zeros as large as the table, which
/// are added to the gradient so far (1 + 3 elements an element).
void slices(ModelBuilder& net, const std::string& name, const Activation& hidden) {
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward.kernels = 0;
  layer.backward.kernels = 2 * clusters;
  layer.weights_read_again =
      4.0 * clusters * static_cast<double>(wikitext_vocabulary * hidden.channels);
  net.custom(std::move(layer), {}, {.channels = 1});
}

}  // namespace

std::int64_t tokens_of_cluster(int cluster, std::int64_t length) {
  constexpr double euler = 0.5772156649;  // the sum of 1 / r to n is near ln n + this
  const auto until = [](std::int64_t words) {
    return words == 0 ? 0.0 : std::log(static_cast<double>(words)) + euler;
  };
  const auto c = static_cast<std::size_t>(cluster);
  const double share = (until(ends[c + 1]) - until(ends[c])) / until(ends.back());
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(length)));
}

Activation adaptive_embedding(ModelBuilder& net, const std::string& name, std::int64_t length,
                              const AdaptiveVocabulary& vocabulary) {
  const Activation tokens = net.tokens(length);
  if (vocabulary.divisor == 1) {
    const Activation words =
        net.embedding(name + ".emb_layers.0", tokens, wikitext_vocabulary, vocabulary.hidden);
    return net.scale(name + ".scale", words);
  }
  std::vector<Activation> parts;
  for (int c = 0; c < clusters; ++c) {
    const Activation words = net.input({.channels = 1, .height = tokens_of_cluster(c, length)});
    const std::int64_t width = width_of(c, vocabulary);
    const Activation x =
        net.embedding(fmt::format("{}.emb_layers.{}", name, c), words, words_of(c), width);
    const std::string projection = fmt::format("{}.emb_projs.{}", name, c);
    parts.push_back(matrix(net, projection, x, vocabulary.hidden,
                           {tensor(projection, {vocabulary.hidden, width})}, false));
  }
  net.register_before(name + ".emb_layers", name + ".emb_projs");
  const Activation whole = {.channels = vocabulary.hidden, .height = length};
  return net.scale(name + ".scale", scattered(net, name + ".index_copy", parts, whole));
}

void adaptive_softmax(ModelBuilder& net, const std::string& name, const Activation& hidden,
                      const AdaptiveVocabulary& vocabulary) {
  const bool projected = vocabulary.divisor > 1;
  const std::int64_t width = vocabulary.hidden;
  if (!projected) slices(net, name + ".slices", hidden);
  Activation x = hidden;
  if (projected) {
    const std::string projection = name + ".out_projs.0";
    x = matrix(net, projection, x, width, {tensor(projection, {width, width})}, false);
  }
  const std::string biases = name + ".out_layers_biases.";
  const std::int64_t head = words_of(0) + clusters - 1;
  x = matrix(net, name + ".head", x, head,
             {tensor(name + ".cluster_weight", {clusters - 1, width}),
              tensor(name + ".cluster_bias", {clusters - 1}),
              tensor(biases + "0", {projected ? words_of(0) : wikitext_vocabulary})},
             true, 2 * head * width);
  net.loss(name + ".head_log_softmax", x);
  for (int c = 1; c < clusters; ++c) {
    const std::string tail = fmt::format("{}.tail.{}", name, c);
    x = net.gather(tail + ".index_select", hidden, tokens_of_cluster(c, hidden.height));
    std::vector<ParameterSpec> bias;
    if (projected) {
      x = matrix(net, tail + ".proj", x, width_of(c, vocabulary), {}, false);
      bias.push_back(tensor(biases + std::to_string(c), {words_of(c)}));
    }
    x = matrix(net, tail, x, words_of(c), std::move(bias), true);
    net.loss(tail + ".log_softmax", x);
  }
  if (!projected) return;
  net.register_before(name + ".cluster", name + ".out_projs");
  net.register_before(name + ".out_layers_biases", name + ".out_projs");
}

}  // namespace gradwire
