#include "sim/models/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/models/attention.hpp"
#include "sim/models/builder.hpp"

namespace gradwire {
namespace {

using Bias = ModelBuilder::Bias;

Bias bias_if(bool own) {
  return own ? Bias::own : Bias::none;
}

std::int64_t head_size_of(const DecoderShape& shape) {
  return shape.head_size > 0 ? shape.head_size : shape.hidden / shape.heads;
}

Activation norm(ModelBuilder& net, const std::string& name, const Activation& input,
                const DecoderShape& shape) {
  return shape.norm == DecoderShape::Norm::layer ? net.layer_norm(name, input)
                                                 : net.rms_norm(name, input);
}

Activation rotated(ModelBuilder& net, const std::string& name, const Activation& input,
                   const DecoderShape& shape) {
  return shape.positions == DecoderShape::Positions::rope ? net.rotary(name, input) : input;
}

/// Queries, keys and values of the heads.
struct Heads {
  Activation query;
  Activation key;
  Activation value;
};

Heads projected(ModelBuilder& net, const std::string& name, const Activation& input,
                const DecoderShape& shape) {
  const std::int64_t size = head_size_of(shape);
  const Bias bias = bias_if(shape.bias || shape.qkv_bias);
  if (shape.joined_qkv) {
    const Activation joined = net.linear(name + ".qkv_proj", input, 3 * shape.heads * size, bias);
    const auto parts = net.split(name + ".split", joined, 3);
    return {parts[0], parts[1], parts[2]};
  }
  return {.query = net.linear(name + ".q_proj", input, shape.heads * size, bias),
          .key = net.linear(name + ".k_proj", input, shape.kv_heads * size, bias),
          .value = net.linear(name + ".v_proj", input, shape.kv_heads * size, bias)};
}

/// Grouped attention: heads / kv_heads queries share a key and a value.
Activation grouped_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                             const DecoderShape& shape) {
  const std::int64_t size = head_size_of(shape);
  Heads heads = projected(net, name, input, shape);
  if (shape.head_norm) {
    heads.query = net.rms_norm(name + ".q_norm", heads.query, size);
    heads.key = net.rms_norm(name + ".k_norm", heads.key, size);
  }
  heads.query = rotated(net, name + ".q_rotary", heads.query, shape);
  heads.key = rotated(net, name + ".k_rotary", heads.key, shape);
  const Activation x = shape.attention == DecoderShape::Attention::flash
                           ? flash_attend(net, name, heads.query, heads.key, heads.value,
                                          {.heads = shape.heads, .size = size, .value_size = size})
                           : attend(net, name, heads.query, heads.key, heads.value,
                                    {.heads = shape.heads, .weight_dropout = false});
  return net.linear(name + ".o_proj", x, shape.hidden, bias_if(shape.bias));
}

/// The first `width` features of each token, as a view.
Activation first_features(Activation input, std::int64_t width) {
  input.channels = width;
  return input;
}

/// Trained as published: keys and values are expanded, and the kernel sees heads of keys of
/// nope_size + rope_size and values of value_size.
Activation latent_attention(ModelBuilder& net, const std::string& name, const Activation& input,
                            const DecoderShape& shape) {
  const LatentShape& latent = *shape.latent;
  const std::int64_t key_size = latent.nope_size + latent.rope_size;
  Activation query = net.linear(name + ".q_a_proj", input, latent.query_rank, Bias::none);
  query = net.rms_norm(name + ".q_a_layernorm", query);
  query = net.linear(name + ".q_b_proj", query, shape.heads * key_size, Bias::none);
  query = net.rotary(name + ".q_rotary", query);
  const Activation narrow =
      net.linear(name + ".kv_a_proj", input, latent.kv_rank + latent.rope_size, Bias::none);
  const Activation normed =
      net.rms_norm(name + ".kv_a_layernorm", first_features(narrow, latent.kv_rank));
  const Activation wide =
      net.linear(name + ".kv_b_proj", normed, shape.heads * (latent.nope_size + latent.value_size),
                 Bias::none);
  Activation key = first_features(wide, shape.heads * key_size);  // with the shared part repeated
  key = net.rotary(name + ".k_rotary", key);
  const Activation x =
      flash_attend(net, name, query, key, first_features(wide, shape.heads * latent.value_size),
                   {.heads = shape.heads, .size = key_size, .value_size = latent.value_size});
  return net.linear(name + ".o_proj", x, shape.hidden, Bias::none);
}

Activation decoder_feed_forward(ModelBuilder& net, const std::string& name, const Activation& input,
                                std::int64_t width, const DecoderShape& shape) {
  const Bias bias = bias_if(shape.bias);
  Activation x;
  if (shape.activation == DecoderShape::Activation::swiglu) {
    const Activation gate = net.linear(name + ".gate_proj", input, width, bias);
    const Activation up = net.linear(name + ".up_proj", input, width, bias);
    x = net.gated_act(name + ".act", gate, up);
  } else {
    x = net.linear(name + ".up_proj", input, width, bias);
    x = shape.activation == DecoderShape::Activation::gelu_operators
            ? net.bloom_gelu(name + ".act", x)
            : net.act(name + ".act", x);
  }
  return net.linear(name + ".down_proj", x, input.channels, bias);
}

/// One grouped product for all experts: [rows, in] x [in, out], each row with its own expert's
/// weight.
Activation grouped_linear(ModelBuilder& net, const std::string& name, const Activation& rows,
                          std::int64_t out, int experts) {
  const Activation output = {.channels = out, .height = rows.height};
  const auto moved = static_cast<double>(rows.elements() + output.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  layer.forward = {.flops = 2.0 * static_cast<double>(rows.elements()) * static_cast<double>(out),
                   .elements = moved};
  layer.backward = {.flops = 2 * layer.forward.flops, .elements = 2 * moved, .kernels = 2};
  layer.parameters = {
      {.name = name + ".weight", .shape = {experts, out, rows.channels}, .ready = {}}};
  return net.custom(std::move(layer), {{rows}}, output);
}

/// Router, tokens copied in the order of their experts, grouped products, weighted sum.
Activation routed(ModelBuilder& net, const std::string& name, const Activation& input,
                  const DecoderShape& shape) {
  const ExpertShape& experts = shape.experts;
  const Activation scores = net.linear(name + ".router", input, experts.count, Bias::none);
  const Activation weights = net.softmax(name + ".router.softmax", scores);
  const Activation rows = net.gather(name + ".permute", input, input.height * experts.active);
  Activation x;
  if (shape.activation == DecoderShape::Activation::swiglu) {
    const Activation gate =
        grouped_linear(net, name + ".experts.gate_proj", rows, experts.ffn, experts.count);
    const Activation up =
        grouped_linear(net, name + ".experts.up_proj", rows, experts.ffn, experts.count);
    x = net.gated_act(name + ".experts.act", gate, up);
  } else {
    x = net.act(name + ".experts.act",
                grouped_linear(net, name + ".experts.up_proj", rows, experts.ffn, experts.count));
  }
  x = grouped_linear(net, name + ".experts.down_proj", x, shape.hidden, experts.count);
  // reads every expert's row and its weight, writes a token; backward the other way round
  const auto moved = static_cast<double>(x.elements() + input.elements() + weights.elements());
  ModelLayer combine;
  combine.name = name + ".combine";
  combine.kind = "act";
  combine.forward = {.elements = moved};
  combine.backward = {.elements = moved + static_cast<double>(x.elements())};
  return net.custom(std::move(combine), {{x, weights}}, input);
}

Activation experts_block(ModelBuilder& net, const std::string& name, const Activation& input,
                         const DecoderShape& shape) {
  const Activation x = routed(net, name, input, shape);
  if (shape.experts.shared == 0) return x;
  const Activation shared = decoder_feed_forward(net, name + ".shared_experts", input,
                                                 shape.experts.shared * shape.experts.ffn, shape);
  return net.add(name + ".add_shared", x, shared);
}

bool has_experts(const DecoderShape& shape, int layer) {
  const ExpertShape& experts = shape.experts;
  return experts.count > 0 && layer >= experts.dense_layers && (layer + 1) % experts.every == 0;
}

Activation decoder_block(ModelBuilder& net, int layer, const Activation& input,
                         const DecoderShape& shape) {
  const std::string name = fmt::format("model.layers.{}", layer);
  Activation x = norm(net, name + ".input_layernorm", input, shape);
  x = shape.latent ? latent_attention(net, name + ".self_attn", x, shape)
                   : grouped_attention(net, name + ".self_attn", x, shape);
  if (shape.dropout) x = net.dropout(name + ".dropout_1", x);
  const Activation residual = net.add(name + ".add_1", x, input);
  x = norm(net, name + ".post_attention_layernorm", residual, shape);
  x = has_experts(shape, layer) ? experts_block(net, name + ".mlp", x, shape)
                                : decoder_feed_forward(net, name + ".mlp", x, shape.ffn, shape);
  if (shape.dropout) x = net.dropout(name + ".dropout_2", x);
  return net.add(name + ".add_2", residual, x);
}

Activation embedded(ModelBuilder& net, const DecoderShape& shape) {
  const Activation tokens = net.tokens(shape.sequence_length);
  Activation x = net.embedding("model.embed_tokens", tokens, shape.vocabulary, shape.hidden);
  if (shape.positions == DecoderShape::Positions::learned) {
    const std::int64_t rows = shape.position_rows > 0 ? shape.position_rows : shape.sequence_length;
    x = net.add("model.add_positions", x,
                net.embedding("model.embed_positions", tokens, rows, shape.hidden));
  }
  return shape.embedding_norm ? norm(net, "model.embed_norm", x, shape) : x;
}

std::int64_t ffn_by_rule(std::int64_t hidden, DecoderShape::Activation activation) {
  constexpr std::int64_t multiple = 256;
  if (activation != DecoderShape::Activation::swiglu) return 4 * hidden;
  return (8 * hidden / 3 + multiple - 1) / multiple * multiple;
}

/// Those that stand for themselves.
void set_widths(DecoderShape& shape, const ModelOptions& options) {
  shape.layers = options.layers.value_or(shape.layers);
  const bool all_heads = shape.kv_heads == shape.heads;
  shape.heads = options.heads.value_or(shape.heads);
  shape.kv_heads = options.kv_heads.value_or(all_heads ? shape.heads : shape.kv_heads);
  shape.head_size =
      options.head_size.value_or(options.hidden || options.heads ? 0 : shape.head_size);
  shape.vocabulary = options.vocabulary.value_or(shape.vocabulary);
  shape.sequence_length = options.sequence_length.value_or(shape.sequence_length);
  shape.tied = options.tied.value_or(shape.tied);
  shape.experts = options.experts.value_or(shape.experts);
}

}  // namespace

DecoderShape with_options(DecoderShape shape, const ModelOptions& options) {
  set_widths(shape, options);
  if (options.activation) {
    shape.activation = *options.activation == "gelu" ? DecoderShape::Activation::gelu
                                                     : DecoderShape::Activation::swiglu;
  }
  if (options.norm) {
    shape.norm = *options.norm == "layer" ? DecoderShape::Norm::layer : DecoderShape::Norm::rms;
  }
  if (options.attention) {
    shape.attention = *options.attention == "eager" ? DecoderShape::Attention::eager
                                                    : DecoderShape::Attention::flash;
  }
  if (options.rope && *options.rope) shape.positions = DecoderShape::Positions::rope;
  if (options.rope && !*options.rope && shape.positions == DecoderShape::Positions::rope) {
    shape.positions = DecoderShape::Positions::learned;
  }
  const bool other_block = options.hidden || options.activation;
  shape.hidden = options.hidden.value_or(shape.hidden);
  shape.ffn =
      options.ffn.value_or(other_block ? ffn_by_rule(shape.hidden, shape.activation) : shape.ffn);
  // One projection makes as many keys as queries.
  shape.joined_qkv = shape.joined_qkv && shape.kv_heads == shape.heads;
  return shape;
}

std::optional<OptionProblem> problem_of(const DecoderShape& shape) {
  if (shape.head_size == 0 && shape.hidden % shape.heads != 0) {
    return OptionProblem{"heads", fmt::format("'heads' is {}, which does not divide {} features; "
                                              "expected a divisor, or 'head_size'",
                                              shape.heads, shape.hidden)};
  }
  if (shape.heads % shape.kv_heads != 0) {
    return OptionProblem{"kv_heads", fmt::format("'kv_heads' is {}; expected a divisor of the {} "
                                                 "heads",
                                                 shape.kv_heads, shape.heads)};
  }
  const std::int64_t rows = shape.position_rows;
  if (shape.positions == DecoderShape::Positions::learned && rows > 0 &&
      shape.sequence_length > rows) {
    return OptionProblem{"sequence_length",
                         fmt::format("'sequence_length' is {}; expected at most {}, the rows of "
                                     "its table of positions",
                                     shape.sequence_length, rows)};
  }
  if (shape.latent && shape.attention == DecoderShape::Attention::eager) {
    return OptionProblem{"attention",
                         "'attention' is eager; expected flash: latent attention is "
                         "modelled as one kernel"};
  }
  const ExpertShape& experts = shape.experts;
  if (experts.count > 0 && experts.active > experts.count) {
    return OptionProblem{"experts", fmt::format("'active' is {}; expected at most the {} experts "
                                                "of 'count'",
                                                experts.active, experts.count)};
  }
  return std::nullopt;
}

ModelDescription decoder(const DecoderShape& shape) {
  ModelBuilder net(shape.name, shape.source);
  Activation x = embedded(net, shape);
  for (int layer = 0; layer < shape.layers; ++layer) x = decoder_block(net, layer, x, shape);
  x = norm(net, "model.norm", x, shape);
  x = shape.tied ? net.tied_linear("lm_head", x, shape.vocabulary)
                 : net.linear("lm_head", x, shape.vocabulary, Bias::none);
  net.cross_entropy("loss", x);
  ModelDescription model = net.finish();
  model.autocast = false;  // FSDP's, DeepSpeed's and Megatron's mixed precision
  return model;
}

}  // namespace gradwire
