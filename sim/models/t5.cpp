#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t buckets = 32;         // of distances, section 2.1
constexpr std::int64_t target_of_512 = 114;  // tokens of target (the code's random_spans_helper)

/// A bias for each head and pair of tokens, which the layers of a stack share: looked up for one
/// sample, and written with the mask for each of the batch. Backward sums over the batch.
Activation relative_bias(ModelBuilder& net, const std::string& name, const Activation& tokens,
                         const Widths& shape) {
  const Activation scores = {.channels = tokens.height * shape.heads, .height = tokens.height};
  const auto elements = static_cast<double>(scores.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = elements};
  layer.backward = {.elements = elements};
  layer.parameters = {{.name = name + ".weight", .shape = {buckets, shape.heads}, .ready = {}}};
  return net.custom(std::move(layer), {{tokens}}, scores);
}

/// Norm, attention, dropout and residual. @param bias  none: of tokens to the encoder's.
Activation t5_attention(ModelBuilder& net, const std::string& name, const std::string& part,
                        const Activation& input, const Activation* memory, const Widths& shape,
                        const std::optional<Activation>& bias) {
  const std::string self = name + "." + part;
  const Activation normed = net.rms_norm(name + ".layer_norm", input);
  const Activation& source = memory == nullptr ? normed : *memory;
  const Activation query = net.linear(self + ".q", normed, shape.hidden, ModelBuilder::Bias::none);
  const Activation key = net.linear(self + ".k", source, shape.hidden, ModelBuilder::Bias::none);
  const Activation value = net.linear(self + ".v", source, shape.hidden, ModelBuilder::Bias::none);
  Activation x =
      attend(net, self, query, key, value, {.heads = shape.heads, .scaled = false, .bias = bias});
  x = net.linear(self + ".o", x, shape.hidden, ModelBuilder::Bias::none);
  net.register_before(self, name + ".layer_norm");
  return net.add(name + ".add", net.dropout(name + ".dropout", x), input);
}

Activation t5_feed_forward(ModelBuilder& net, const std::string& name, const Activation& input,
                           const Widths& shape) {
  const std::string dense = name + ".DenseReluDense";
  Activation x = net.rms_norm(name + ".layer_norm", input);
  x = net.linear(dense + ".wi", x, shape.ffn, ModelBuilder::Bias::none);
  x = net.dropout(dense + ".dropout", net.act(dense + ".relu", x));
  x = net.linear(dense + ".wo", x, shape.hidden, ModelBuilder::Bias::none);
  net.register_before(dense, name + ".layer_norm");
  return net.add(name + ".add", net.dropout(name + ".dropout", x), input);
}

/// @param memory  what the encoder made; none: this is the encoder.
Activation stack(ModelBuilder& net, const std::string& name, const Activation& tokens,
                 const Activation& words, const Activation* memory, const Widths& shape) {
  const std::string table = name + ".block.0.layer.0.SelfAttention.relative_attention_bias";
  const Activation bias = relative_bias(net, table, tokens, shape);
  Activation x = net.dropout(name + ".dropout", words);
  for (int layer = 0; layer < shape.layers; ++layer) {
    int part = 0;
    const auto next = [&] { return fmt::format("{}.block.{}.layer.{}", name, layer, part++); };
    x = t5_attention(net, next(), "SelfAttention", x, nullptr, shape, bias);
    if (memory != nullptr) x = t5_attention(net, next(), "EncDecAttention", x, memory, shape, {});
    x = t5_feed_forward(net, next(), x, shape);
  }
  x = net.rms_norm(name + ".final_layer_norm", x);
  return net.dropout(name + ".final_dropout", x);
}

ModelDescription t5(const std::string& name, const ModelOptions& options) {
  const Widths shape = widths_of(name, options);
  ModelBuilder net(shape.name,
                   "Raffel et al., arXiv 1910.10683; HuggingFace transformers modeling_t5.py");
  const std::int64_t vocabulary = options.vocabulary.value_or(t5_vocabulary);
  const std::int64_t length = options.sequence_length.value_or(t5_sequence_length);
  const Activation source = net.tokens(length);
  const Activation words = net.embedding("shared", source, vocabulary, shape.hidden);
  const Activation memory = stack(net, "encoder", source, words, nullptr, shape);
  const Activation target =
      net.tokens((length * target_of_512 + t5_sequence_length - 1) / t5_sequence_length);
  Activation x = net.tied_embedding("decoder.embed_tokens", target, shape.hidden);
  x = stack(net, "decoder", target, x, &memory, shape);
  x = net.tied_linear("lm_head", net.scale("lm_head.scale", x), vocabulary);
  net.loss("loss", x);
  return net.finish();
}

}  // namespace

ModelDescription t5_small(const ModelOptions& options) {
  return t5("t5_small", options);
}

ModelDescription t5_base(const ModelOptions& options) {
  return t5("t5_base", options);
}

ModelDescription t5_large(const ModelOptions& options) {
  return t5("t5_large", options);
}

}  // namespace gradwire
