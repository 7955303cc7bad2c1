#include "sim/config/profile/huggingface_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/config/profile/model_fields.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

using Shape = DecoderShape;

/// A config.json, whose keys have names by family and may be null.
class ConfigJson {
 public:
  explicit ConfigJson(const YamlValue& document) : map_(document) {}

  YamlMap& map() { return map_; }

  bool says(const std::string& key) {
    const YamlValue* value = map_.find(key);
    return value != nullptr && value->kind != YamlValue::Kind::empty;  // null
  }
  /// A size that must be there, under the first of these names that is.
  std::int64_t size(const std::string& name, std::int64_t most, const std::string& other = "") {
    const std::string& key = !other.empty() && !says(name) ? other : name;
    return map_.require<std::int64_t>(key, between<std::int64_t>(1, most));
  }
  std::int64_t size_or(const std::string& key, std::int64_t fallback) {
    return says(key) ? size(key, width_max) : fallback;
  }
  int count(const std::string& key, int most) { return map_.require<int>(key, between(1, most)); }
  int count_or(const std::string& key, int fallback, int most) {
    return says(key) ? map_.require<int>(key, between(0, most)) : fallback;
  }
  double share_or(const std::string& key, double fallback) {
    return says(key) ? map_.require<double>(key, between(0.0, 1.0)) : fallback;
  }
  bool flag(const std::string& key, bool fallback) {
    return says(key) ? map_.require<bool>(key) : fallback;
  }
  /// Of a key that no shape has otherwise.
  void expect(const std::string& key, bool expected) {
    if (flag(key, expected) == expected) return;
    map_.fail(key, fmt::format("'{}' is {}, which is not modelled; expected {}", key, !expected,
                               expected));
  }
  void expect_size(const std::string& key, std::int64_t expected) {
    const std::int64_t found = size_or(key, expected);
    if (found == expected) return;
    map_.fail(key,
              fmt::format("'{}' is {}, which is not modelled; expected {}", key, found, expected));
  }

 private:
  YamlMap map_;
};

/// Widths under the names that most families have.
void read_widths(ConfigJson& json, Shape& shape) {
  shape.layers = json.count("num_hidden_layers", layers_max);
  shape.hidden = json.size("hidden_size", width_max);
  shape.heads = json.size("num_attention_heads", width_max);
  shape.kv_heads = json.size_or("num_key_value_heads", shape.heads);
  shape.head_size = json.size_or("head_dim", 0);
  shape.ffn = json.size("intermediate_size", width_max);
  shape.vocabulary = json.size("vocab_size", count_max);
  shape.sequence_length = json.size("max_position_embeddings", count_max);
}

/// Llama and its kin: RMS norms, rotary positions, a gated feed-forward block.
Shape llama(ConfigJson& json) {
  Shape shape;
  read_widths(json, shape);
  shape.tied = json.flag("tie_word_embeddings", false);
  shape.bias = json.flag("attention_bias", false);
  if (json.flag("mlp_bias", false) != shape.bias) {
    json.map().fail(json.says("mlp_bias") ? "mlp_bias" : "attention_bias",
                    "biases of attention without those of the feed-forward block, or these without "
                    "those; expected 'attention_bias' and 'mlp_bias' alike");
  }
  return shape;
}

Shape mixtral(ConfigJson& json) {
  Shape shape = llama(json);
  shape.experts = {.count = json.count("num_local_experts", experts_max),
                   .active = json.count("num_experts_per_tok", experts_max),
                   .ffn = shape.ffn};
  return shape;
}

Shape qwen2(ConfigJson& json) {
  Shape shape;
  read_widths(json, shape);
  shape.tied = json.flag("tie_word_embeddings", false);
  shape.qkv_bias = true;  // Qwen2Attention has no switch for it
  return shape;
}

Shape qwen3(ConfigJson& json) {
  Shape shape;
  read_widths(json, shape);
  if (shape.head_size == 0) shape.head_size = 128;
  shape.tied = json.flag("tie_word_embeddings", false);
  json.expect("attention_bias", false);
  shape.head_norm = true;
  return shape;
}

Shape qwen3_moe(ConfigJson& json) {
  Shape shape = qwen3(json);
  shape.experts = {.count = json.count("num_experts", experts_max),
                   .active = json.count("num_experts_per_tok", experts_max),
                   .ffn = json.size("moe_intermediate_size", width_max),
                   .every = std::max(1, json.count_or("decoder_sparse_step", 1, layers_max))};
  if (const YamlValue* dense = json.map().find("mlp_only_layers");
      dense != nullptr && !dense->items.empty()) {
    json.map().fail("mlp_only_layers", "some layers without experts; expected none");
  }
  return shape;
}

Shape deepseek_v3(ConfigJson& json) {
  Shape shape;
  read_widths(json, shape);
  shape.kv_heads = shape.heads;
  shape.head_size = 0;
  shape.tied = json.flag("tie_word_embeddings", false);
  json.expect("attention_bias", false);
  json.expect_size("moe_layer_freq", 1);
  shape.experts = {.count = json.count("n_routed_experts", experts_max),
                   .active = json.count("num_experts_per_tok", experts_max),
                   .shared = json.count_or("n_shared_experts", 0, experts_max),
                   .ffn = json.size("moe_intermediate_size", width_max),
                   .dense_layers = json.count_or("first_k_dense_replace", 0, layers_max)};
  shape.latent = LatentShape{.query_rank = json.size("q_lora_rank", width_max),
                             .kv_rank = json.size("kv_lora_rank", width_max),
                             .nope_size = json.size("qk_nope_head_dim", width_max),
                             .rope_size = json.size("qk_rope_head_dim", width_max),
                             .value_size = json.size("v_head_dim", width_max)};
  return shape;
}

/// GPT-2 and those that follow it: layer norms and biases everywhere, one table for both ends.
Shape gpt_like(ConfigJson& json) {
  Shape shape;
  shape.vocabulary = json.size("vocab_size", count_max);
  shape.activation = Shape::Activation::gelu;
  shape.norm = Shape::Norm::layer;
  shape.tied = json.flag("tie_word_embeddings", true);
  shape.bias = true;
  return shape;
}

Shape gpt2_shape(ConfigJson& json) {
  Shape shape = gpt_like(json);
  shape.layers = json.count("n_layer", layers_max);
  shape.hidden = json.size("n_embd", width_max);
  shape.heads = shape.kv_heads = json.size("n_head", width_max);
  shape.ffn = json.size_or("n_inner", 4 * shape.hidden);
  shape.sequence_length = shape.position_rows = json.size("n_positions", count_max);
  shape.positions = Shape::Positions::learned;
  shape.joined_qkv = true;
  return shape;
}

Shape opt(ConfigJson& json) {
  constexpr int offset = 2;  // OPTLearnedPositionalEmbedding
  Shape shape = gpt_like(json);
  shape.layers = json.count("num_hidden_layers", layers_max);
  shape.hidden = json.size("hidden_size", width_max);
  shape.heads = shape.kv_heads = json.size("num_attention_heads", width_max);
  shape.ffn = json.size("ffn_dim", width_max);
  shape.sequence_length = json.size("max_position_embeddings", count_max);
  shape.position_rows = shape.sequence_length + offset;
  shape.positions = Shape::Positions::learned;
  constexpr double config_default = 0.1;  // OPTConfig
  shape.dropout = json.share_or("dropout", config_default) > 0;
  json.expect_size("word_embed_proj_dim", shape.hidden);
  json.expect("do_layer_norm_before", true);
  return shape;
}

Shape bloom(ConfigJson& json) {
  constexpr std::int64_t trained_with = 2048;
  Shape shape = gpt_like(json);
  shape.layers = json.count(json.says("n_layer") ? "n_layer" : "num_hidden_layers", layers_max);
  shape.hidden = json.size("hidden_size", width_max, "n_embed");
  shape.heads = shape.kv_heads = json.size("n_head", width_max, "num_attention_heads");
  shape.ffn = 4 * shape.hidden;
  shape.sequence_length = json.size_or("seq_length", trained_with);
  shape.activation = Shape::Activation::gelu_operators;  // BloomGelu
  shape.positions = Shape::Positions::alibi;
  shape.joined_qkv = true;
  shape.embedding_norm = true;
  return shape;
}

Shape mpt(ConfigJson& json) {
  Shape shape = gpt_like(json);
  shape.layers = json.count("n_layers", layers_max);
  shape.hidden = json.size("d_model", width_max);
  shape.heads = shape.kv_heads = json.size("n_heads", width_max);
  shape.ffn = json.size_or("expansion_ratio", 4) * shape.hidden;
  shape.sequence_length = json.size("max_seq_len", count_max);
  shape.positions = Shape::Positions::alibi;
  shape.norm = Shape::Norm::layer_without_bias;
  shape.bias = false;
  shape.joined_qkv = true;
  json.expect("no_bias", true);
  return shape;
}

Shape gpt_neox(ConfigJson& json) {
  Shape shape = gpt_like(json);
  read_widths(json, shape);
  shape.tied = json.flag("tie_word_embeddings", false);
  shape.joined_qkv = true;
  json.expect("attention_bias", true);
  return shape;
}

struct Family {
  std::string_view model_type;
  Shape (*read)(ConfigJson& json);
};

constexpr std::array<Family, 12> families = {{{"llama", llama},
                                              {"mistral", llama},
                                              {"mixtral", mixtral},
                                              {"qwen2", qwen2},
                                              {"qwen3", qwen3},
                                              {"qwen3_moe", qwen3_moe},
                                              {"deepseek_v3", deepseek_v3},
                                              {"gpt2", gpt2_shape},
                                              {"gpt_neox", gpt_neox},
                                              {"opt", opt},
                                              {"bloom", bloom},
                                              {"mpt", mpt}}};

/// The key of the file whose value is wrong, as families name it.
std::string key_in(ConfigJson& json, const std::string& key) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string>>> names = {
      {"heads", {"num_attention_heads", "n_head", "n_heads"}},
      {"kv_heads", {"num_key_value_heads"}},
      {"experts", {"num_experts_per_tok"}}};
  for (const auto& [ours, theirs] : names) {
    if (ours != key) continue;
    for (const std::string& each : theirs) {
      if (json.says(each)) return each;
    }
  }
  return key;
}

}  // namespace

std::vector<std::string> huggingface_model_types() {
  std::vector<std::string> types;
  types.reserve(std::size(families));
  for (const Family& family : families) types.emplace_back(family.model_type);
  return types;
}

DecoderShape read_huggingface_config(const YamlValue& document) {
  ConfigJson json(document);
  const std::string type = json.map().require_choice("model_type", huggingface_model_types());
  DecoderShape shape = std::ranges::find(families, type, &Family::model_type)->read(json);
  shape.name = type;
  if (const auto problem = problem_of(shape)) {
    json.map().fail(key_in(json, problem->key), problem->message);
  }
  return shape;
}

}  // namespace gradwire::config
