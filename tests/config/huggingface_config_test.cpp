#include "sim/config/profile/huggingface_config.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

DecoderShape read(const std::string& json) {
  return config::read_huggingface_config(config::parse_yaml(json, "config.json"));
}

std::string refusal(const std::string& json) {
  try {
    static_cast<void>(read(json));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// Widths in the names of Llama and its kin, and more.
std::string widths(const std::string& type, int layers, int hidden, int heads, int kv_heads,
                   int ffn, int vocabulary, const std::string& more = "") {
  return fmt::format(
      R"({{"model_type": "{}", "num_hidden_layers": {}, "hidden_size": {}, "num_attention_heads": {},
  "num_key_value_heads": {}, "intermediate_size": {}, "vocab_size": {},
  "max_position_embeddings": 4096, "rope_scaling": null, "rms_norm_eps": 1e-05{}}})",
      type, layers, hidden, heads, kv_heads, ffn, vocabulary, more);
}

}  // namespace

TEST_CASE("A config.json gives the parameters of the checkpoint beside it", "[config][models]") {
  struct Published {
    std::string json;
    std::int64_t parameters;
  };
  // num_parameters() of transformers for the checkpoint named
  const auto published = GENERATE(
      // Llama-3.2-1B, Mistral-7B-v0.1, Mixtral-8x7B-v0.1
      Published{widths("llama", 16, 2048, 32, 8, 8192, 128'256,
                       R"(, "head_dim": 64, "tie_word_embeddings": true, "attention_bias": false)"),
                1'235'814'400},
      Published{widths("mistral", 32, 4096, 32, 8, 14'336, 32'000, R"(, "head_dim": null)"),
                7'241'732'096},
      Published{widths("mixtral", 32, 4096, 32, 8, 14'336, 32'000,
                       R"(, "num_local_experts": 8, "num_experts_per_tok": 2)"),
                46'702'792'704},
      // Qwen2.5-0.5B, Qwen3-0.6B, Qwen3-30B-A3B
      Published{widths("qwen2", 24, 896, 14, 2, 4864, 151'936, R"(, "tie_word_embeddings": true)"),
                494'032'768},
      Published{widths("qwen3", 28, 1024, 16, 8, 3072, 151'936,
                       R"(, "head_dim": 128, "tie_word_embeddings": true)"),
                596'049'920},
      Published{widths("qwen3_moe", 48, 2048, 32, 4, 6144, 151'936,
                       R"(, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
  "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [])"),
                30'532'122'624},
      // DeepSeek-V3 without its module of second tokens and its 58 x 256 biases of routing
      Published{widths("deepseek_v3", 61, 7168, 128, 128, 18'432, 129'280,
                       R"(, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3)"),
                671'026'419'200 - 58 * 256},
      // gpt2, pythia-1b, opt-125m, bloom-560m, mpt-7b
      Published{R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12,
  "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257})",
                124'439'808},
      Published{widths("gpt_neox", 16, 2048, 8, 8, 8192, 50'304), 1'011'781'632},
      Published{
          R"({"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "ffn_dim": 3072,
  "num_attention_heads": 12, "max_position_embeddings": 2048, "vocab_size": 50272,
  "word_embed_proj_dim": 768, "do_layer_norm_before": true})",
          125'239'296},
      Published{
          R"({"model_type": "bloom", "n_layer": 24, "n_embed": 1024, "num_attention_heads": 16,
  "vocab_size": 250880})",
          559'214'592},
      Published{R"({"model_type": "mpt", "n_layers": 32, "d_model": 4096, "n_heads": 32,
  "max_seq_len": 2048, "vocab_size": 50432, "no_bias": true})",
                6'649'286'656});
  CAPTURE(published.json);
  CHECK(decoder(read(published.json)).parameter_count() == published.parameters);
}

TEST_CASE("A config.json of OPT says whether there is dropout, of BLOOM has its own GELU",
          "[config][models]") {
  const auto opt = [](const std::string& more) {
    return read(R"({"model_type": "opt", "num_hidden_layers": 1, "hidden_size": 64, "ffn_dim": 256,
  "num_attention_heads": 4, "max_position_embeddings": 32, "vocab_size": 100)" +
                more + "}");
  };
  CHECK(opt("").dropout);  // OPTConfig's 0.1
  CHECK(opt(R"(, "dropout": 0.1)").dropout);
  CHECK_FALSE(opt(R"(, "dropout": 0.0)").dropout);
  const DecoderShape bloom = read(
      R"({"model_type": "bloom", "n_layer": 1, "n_embed": 64, "num_attention_heads": 4, "vocab_size": 100})");
  CHECK(bloom.activation == DecoderShape::Activation::gelu_operators);
  // 21 and 44 passes over an element; a compiler's one kernel each way, 2 and 3.
  const ModelDescription model = decoder(bloom);
  const auto act = std::ranges::find(model.layers, "model.layers.0.mlp.act", &ModelLayer::name);
  REQUIRE(act != model.layers.end());
  CHECK(act->backward.elements / act->forward.elements == Approx(44.0 / 21));
  CHECK(act->forward.elements / act->compiled->forward.elements == Approx(21.0 / 2));
}

TEST_CASE("A config.json that no decoder has is refused where it says so", "[config][models]") {
  const auto llama = [](const std::string& more) {
    return widths("llama", 2, 64, 4, 4, 128, 100, more);
  };
  CHECK(refusal(widths("lama", 2, 64, 4, 4, 128, 100)) ==
        "config.json:1:16: 'model_type' is 'lama'; expected one of llama, mistral, mixtral, qwen2, "
        "qwen3, qwen3_moe, deepseek_v3, gpt2, gpt_neox, opt, bloom, mpt; did you mean 'llama'?");
  CHECK(refusal(widths("llama", 2, 64, 5, 5, 128, 100)) ==
        "config.json:1:91: 'heads' is 5, which does not divide 64 features; expected a divisor, or "
        "'head_size'");
  CHECK(refusal(widths("llama", 2, 64, 4, 3, 128, 100)) ==
        "config.json:2:26: 'kv_heads' is 3; expected a divisor of the 4 heads");
  CHECK(
      refusal(widths("llama", 0, 64, 4, 4, 128, 100)) ==
      "config.json:1:46: 'num_hidden_layers' is '0'; expected a whole number, at least 1, at most "
      "1000");
  CHECK_THAT(refusal(llama(R"(, "attention_bias": true)")),
             Catch::ContainsSubstring("expected 'attention_bias' and 'mlp_bias' alike"));
  CHECK_THAT(refusal(R"({"model_type": "gpt2"})"),
             Catch::ContainsSubstring("config.json:1:1: missing key 'vocab_size'"));
  CHECK_THAT(refusal(R"({"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 1024,
  "ffn_dim": 4096, "num_attention_heads": 16, "max_position_embeddings": 2048,
  "vocab_size": 50272, "word_embed_proj_dim": 512})"),
             Catch::ContainsSubstring("3:47: 'word_embed_proj_dim' is 512, which is not modelled; "
                                      "expected 1024"));
  CHECK_THAT(refusal(widths("qwen3", 2, 64, 4, 4, 128, 100, R"(, "attention_bias": true)")),
             Catch::ContainsSubstring("'attention_bias' is true, which is not modelled"));
}

TEST_CASE("Every published decoder, written as a file, is read back as the same model",
          "[config][models]") {
  const std::vector<std::string> comment = {"made by a test"};
  for (const DecoderShape& shape : config::published_decoders()) {
    CAPTURE(shape.name);
    const std::string text = config::write_decoder_file(shape, comment);
    const ModelDescription read = config::read_model_file(config::parse_yaml(text, "m.yaml"));
    const ModelDescription own = decoder(shape);
    CHECK(read.name == own.name);
    CHECK(read.source == own.source);
    CHECK(read.parameter_count() == own.parameter_count());
    CHECK(read.tokens == own.tokens);
    REQUIRE(read.layers.size() == own.layers.size());
    for (std::size_t i = 0; i < own.layers.size(); ++i) {
      if (read.layers[i].name != own.layers[i].name ||
          read.layers[i].forward.flops != own.layers[i].forward.flops) {
        FAIL(own.layers[i].name);
      }
    }
  }
}

TEST_CASE("A decoder of a file is refused at the key that makes it impossible",
          "[config][models]") {
  const auto told = [](const std::string& more) {
    try {
      static_cast<void>(config::read_decoder_file(config::parse_yaml(
          "schema: gradwire.model/1\nname: small\ndecoder: {layers: 2, hidden: 64, heads: 4, "
          "ffn: 128, vocabulary: 100, sequence_length: 16" +
              more + "}\n",
          "m.yaml")));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(told("") == "accepted");
  CHECK(told(", kv_heads: 2") == "accepted");
  CHECK(told(", kv_heads: 3") ==
        "m.yaml:3:102: 'kv_heads' is 3; expected a divisor of the 4 heads");
  CHECK_THAT(told(", kv_heads: 2, joined_qkv: true"),
             Catch::ContainsSubstring("'joined_qkv' beside fewer 'kv_heads' than heads"));
  CHECK_THAT(told(", actvation: gelu"), Catch::ContainsSubstring("did you mean 'activation'?"));
  CHECK_THAT(told(", experts: {count: 2, active: 4, ffn: 8}"),
             Catch::ContainsSubstring("'active' is 4; expected at most the 2 experts"));
}
