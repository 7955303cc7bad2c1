#include "sim/models/seq2seq_layers.hpp"

#include "sim/models/attention.hpp"

namespace gradwire {
namespace {

/// @param memory  what keys and values are made of: `input` itself, or the encoder's output.
Activation attention(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Activation& memory, const Seq2SeqShape& shape) {
  const Activation query = net.linear(name + ".q_proj", input, shape.hidden);
  const Activation key = net.linear(name + ".k_proj", memory, shape.hidden);
  const Activation value = net.linear(name + ".v_proj", memory, shape.hidden);
  net.register_before(name + ".k_proj", name + ".q_proj");
  net.register_before(name + ".v_proj", name + ".q_proj");
  const std::int64_t size = shape.hidden / shape.heads;
  const Activation x =
      shape.flash
          ? flash_attend(net, name, query, key, value,
                         {.heads = shape.heads, .size = size, .value_size = size, .causal = false})
          : attend(net, name, query, key, value, {.heads = shape.heads, .weight_dropout = false});
  return net.linear(name + ".out_proj", x, shape.hidden);
}

/// Dropout, residual and norm behind each sublayer.
Activation close(ModelBuilder& net, const std::string& name, const Activation& x,
                 const Activation& residual) {
  const Activation sum = net.add(name + ".add", net.dropout(name + ".dropout", x), residual);
  return net.layer_norm(name + "_layer_norm", sum);
}

Activation feed_forward(ModelBuilder& net, const std::string& name, const Activation& input,
                        const Seq2SeqShape& shape) {
  Activation x = net.act(name + ".relu", net.linear(name + ".fc1", input, shape.inner));
  x = net.linear(name + ".fc2", x, shape.hidden);
  return close(net, name + ".final", x, input);
}

}  // namespace

Activation encoder_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                         const Seq2SeqShape& shape) {
  const std::string self = name + ".self_attn";
  const Activation x = close(net, self, attention(net, self, input, input, shape), input);
  return feed_forward(net, name, x, shape);
}

Activation decoder_layer(ModelBuilder& net, const std::string& name, const Activation& input,
                         const Activation& memory, const Seq2SeqShape& shape) {
  const std::string self = name + ".self_attn";
  const std::string cross = name + ".encoder_attn";
  Activation x = close(net, self, attention(net, self, input, input, shape), input);
  x = close(net, cross, attention(net, cross, x, memory, shape), x);
  return feed_forward(net, name, x, shape);
}

}  // namespace gradwire
