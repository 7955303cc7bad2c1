#include "sim/models/bert_encoder.hpp"

#include <fmt/format.h>

#include "sim/models/attention.hpp"

namespace gradwire {
namespace {

Activation embeddings(ModelBuilder& net, const Activation& tokens, const BertShape& network,
                      std::int64_t vocabulary) {
  const std::string name = network.prefix + ".embeddings";
  const Activation words =
      net.embedding(name + ".word_embeddings", tokens, vocabulary, network.widths.hidden);
  const Activation places = net.embedding(name + ".position_embeddings", tokens, network.positions,
                                          network.widths.hidden);
  const Activation types = net.embedding(name + ".token_type_embeddings", tokens,
                                         network.token_types, network.widths.hidden);
  Activation x = net.add(name + ".add_position", words, places);
  x = net.add(name + ".add_type", x, types);
  x = net.layer_norm(name + ".LayerNorm", x);
  return net.dropout(name + ".dropout", x);
}

/// dense, dropout, residual, norm: the end of both halves of an encoder layer.
Activation output(ModelBuilder& net, const std::string& name, const Activation& x,
                  const Activation& residual) {
  Activation y = net.linear(name + ".dense", x, residual.channels);
  y = net.dropout(name + ".dropout", y);
  return net.layer_norm(name + ".LayerNorm", net.add(name + ".add", y, residual));
}

Activation encoder_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                         const BertShape& network, bool flash) {
  const std::string self = name + ".attention.self";
  const Activation query = net.linear(self + ".query", input, network.widths.hidden);
  const Activation key = net.linear(self + ".key", input, network.widths.hidden);
  const Activation value = net.linear(self + ".value", input, network.widths.hidden);
  const std::int64_t size = network.widths.hidden / network.widths.heads;
  Activation x =
      flash
          ? flash_attend(
                net, self, query, key, value,
                {.heads = network.widths.heads, .size = size, .value_size = size, .causal = false})
          : attend(net, self, query, key, value, {.heads = network.widths.heads});
  x = output(net, name + ".attention.output", x, input);
  const Activation wide = net.gelu(name + ".intermediate.gelu",
                                   net.linear(name + ".intermediate.dense", x, network.widths.ffn));
  return output(net, name + ".output", wide, x);
}

}  // namespace

Activation bert_encoder(ModelBuilder& net, const Activation& tokens, const BertShape& network,
                        std::int64_t vocabulary, const std::optional<std::string>& attention) {
  Activation x = embeddings(net, tokens, network, vocabulary);
  for (int layer = 0; layer < network.widths.layers; ++layer) {
    x = encoder_layer(net, fmt::format("{}.encoder.layer.{}", network.prefix, layer), x, network,
                      attention == "flash");
  }
  return x;
}

}  // namespace gradwire
