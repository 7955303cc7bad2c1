#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sim/models/adaptive_softmax.hpp"
#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

struct XlShape {
  std::string name;
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t inner = 0;
  int length = 0;  ///< of the new tokens, and of the remembered ones (tgt_len, mem_len)
  std::int64_t divisor = 1;
  bool weight_dropout = false;  ///< dropatt > 0
};

ModelLayer other(const std::string& name, const LayerWork& forward, const LayerWork& backward) {
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = forward;
  layer.backward = backward;
  return layer;
}

double elements_of(const Activation& x) {
  return static_cast<double>(x.elements());
}

/// What is remembered, without a gradient, before the new tokens; backward is a view.
Activation with_memory(ModelBuilder& net, const std::string& name, const Activation& input) {
  Activation all = input;
  all.height *= 2;
  return net.custom(other(name, {.elements = 2 * elements_of(all)}, {.kernels = 0}), {{input}},
                    all);
}

/// The new tokens of `all`, a view; backward zeros, and their gradient copied.
Activation new_tokens(ModelBuilder& net, const std::string& name, const Activation& all) {
  Activation fresh = all;
  fresh.height /= 2;
  const LayerWork backward = {.elements = elements_of(all) + 2 * elements_of(fresh), .kernels = 2};
  return net.custom(other(name, {.kernels = 0}, backward), {{all}}, fresh);
}

/// Adds a vector that all layers share, whose gradient is a sum over tokens.
Activation with_bias(ModelBuilder& net, const std::string& name, const Activation& query,
                     const std::string& tensor, bool first, const XlShape& shape) {
  ModelLayer layer =
      other(name, {.elements = 2 * elements_of(query)}, {.elements = elements_of(query)});
  if (first) {
    layer.parameters = {
        {.name = tensor, .shape = {shape.heads, shape.hidden / shape.heads}, .ready = {}}};
  }
  return net.custom(std::move(layer), {{query}}, query);
}

/// Keys of the distances, made once for all samples: a sample has none of its FLOPs, only the
/// weight's traffic counts.
void distance_keys(ModelBuilder& net, const std::string& name, const XlShape& shape) {
  ModelLayer layer = other(name, {}, {});
  layer.kind = "linear";
  layer.parameters = {
      {.name = name + ".weight", .shape = {shape.hidden, shape.hidden}, .ready = {}}};
  net.custom(std::move(layer), {}, {.channels = shape.hidden});
}

/// Queries times keys of the distances, which the samples share, and the rows shifted: beside each
/// row a zero (2 N), then a view; backward zeros and a copy (3 N).
Activation distance_scores(ModelBuilder& net, const std::string& name, const Activation& query,
                           std::int64_t keys, const XlShape& shape) {
  const std::int64_t size = shape.hidden / shape.heads;
  const Activation scores = {.channels = keys * shape.heads, .height = query.height};
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  layer.product =
      MatrixShape{.rows = query.height, .columns = keys, .depth = size, .count = shape.heads};
  layer.forward = {.flops = 2.0 * elements_of(scores) * static_cast<double>(size),
                   .elements = elements_of(query) + elements_of(scores)};
  layer.backward = {
      .flops = 2 * layer.forward.flops, .elements = 2 * layer.forward.elements, .kernels = 2};
  const Activation x = net.custom(std::move(layer), {{query}}, scores);
  const double n = elements_of(scores);
  return net.custom(other(name + ".rel_shift", {.elements = 2 * n, .kernels = 2},
                          {.elements = 3 * n, .kernels = 2}),
                    {{x}}, scores);
}

Activation relative_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                              bool first, const XlShape& shape) {
  const Activation all = with_memory(net, name + ".cat", input);
  const Activation heads =
      net.linear(name + ".qkv_net", all, 3 * shape.hidden, ModelBuilder::Bias::none);
  distance_keys(net, name + ".r_net", shape);
  const auto parts = net.split(name + ".chunk", heads, 3);
  const Activation query = new_tokens(net, name + ".query", parts[0]);
  const Activation by_word = with_bias(net, name + ".add_w", query, "r_w_bias", first, shape);
  const Activation by_distance = with_bias(net, name + ".add_r", query, "r_r_bias", first, shape);
  const Activation distances = distance_scores(net, name + ".BD", by_distance, all.height, shape);
  // TorchScript adds and scales in one kernel, which moves 2 N less forward than counted here.
  Activation x = attend(net, name, by_word, parts[1], parts[2],
                        {.heads = shape.heads,
                         .weight_dropout = shape.weight_dropout,
                         .bias = distances,
                         .bias_then_mask = true});
  x = net.linear(name + ".o_net", x, shape.hidden, ModelBuilder::Bias::none);
  x = net.add(name + ".add", net.dropout(name + ".drop", x), input);
  x = net.layer_norm(name + ".layer_norm", x);
  net.register_before(name + ".o_net", name + ".r_net");
  net.register_before(name + ".layer_norm", name + ".r_net");
  return x;
}

Activation positionwise_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                              const XlShape& shape) {
  const std::string core = name + ".CoreNet.";
  Activation x = net.act(core + "1", net.linear(core + "0", input, shape.inner));
  x = net.linear(core + "3", net.dropout(core + "2", x), shape.hidden);
  x = net.add(name + ".add", net.dropout(core + "4", x), input);
  return net.layer_norm(name + ".layer_norm", x);
}

ModelDescription transformer_xl(const XlShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name,
                   "Dai et al., arXiv 1901.02860; NVIDIA's DeepLearningExamples, "
                   "PyTorch/LanguageModeling/Transformer-XL, WikiText-103");
  const std::int64_t length = options.sequence_length.value_or(shape.length);
  const AdaptiveVocabulary vocabulary = {.hidden = shape.hidden, .divisor = shape.divisor};
  Activation x = net.dropout("drop", adaptive_embedding(net, "word_emb", length, vocabulary));
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string name = fmt::format("layers.{}", layer);
    x = relative_attention(net, name + ".dec_attn", x, layer == 0, shape);
    x = positionwise_layer(net, name + ".pos_ff", x, shape);
  }
  // what each layer was given, stacked and kept for the next step
  const double remembered = shape.layers * elements_of(x);
  ModelLayer memory = other("new_mems", {.elements = 2 * remembered}, {.kernels = 0});
  memory.kept = remembered;
  net.custom(std::move(memory), {}, {.channels = x.channels, .height = shape.layers * length});
  adaptive_softmax(net, "crit", net.dropout("drop_out", x), vocabulary);
  net.register_before("r_w_bias", "word_emb");
  net.register_before("r_r_bias", "word_emb");
  return net.finish();
}

}  // namespace

ModelDescription transformer_xl_base(const ModelOptions& options) {
  return transformer_xl({.name = "transformer_xl_base",
                         .layers = 16,
                         .hidden = 512,
                         .heads = 8,
                         .inner = 2048,
                         .length = transformer_xl_base_length},
                        options);
}

ModelDescription transformer_xl_large(const ModelOptions& options) {
  return transformer_xl({.name = "transformer_xl_large",
                         .layers = 18,
                         .hidden = 1024,
                         .heads = 16,
                         .inner = 4096,
                         .length = transformer_xl_large_length,
                         .divisor = 4,
                         .weight_dropout = true},
                        options);
}

}  // namespace gradwire
