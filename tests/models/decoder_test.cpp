#include "sim/models/decoder.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/models/fusion.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

const DecoderShape& shape_of(const std::string& name) {
  const auto& shapes = config::published_decoders();
  const auto found = std::ranges::find(shapes, name, &DecoderShape::name);
  REQUIRE(found != shapes.end());
  return *found;
}

ModelDescription make(const std::string& name, const ModelOptions& options = {}) {
  return decoder(with_options(shape_of(name), options));
}

double forward_flops(const ModelDescription& model) {
  return std::accumulate(
      model.layers.begin(), model.layers.end(), 0.0,
      [](double sum, const ModelLayer& layer) { return sum + layer.forward.flops; });
}

}  // namespace

TEST_CASE("Decoders have as many parameters as their published checkpoints", "[models]") {
  struct Published {
    const char* name;
    std::int64_t parameters;
  };
  // Elements of the checkpoints' tensors, as the model cards of HuggingFace count them;
  // deepseek_v3: without 256 numbers in each of 58 routers, to which no gradient flows.
  const auto published = GENERATE(
      Published{"llama2_7b", 6'738'415'616}, Published{"llama2_13b", 13'015'864'320},
      Published{"llama2_70b", 68'976'648'192}, Published{"llama3_8b", 8'030'261'248},
      Published{"llama3_70b", 70'553'706'496}, Published{"llama3_405b", 405'853'388'800},
      Published{"mistral_7b", 7'241'732'096}, Published{"mixtral_8x7b", 46'702'792'704},
      Published{"qwen2_5_7b", 7'615'616'512}, Published{"qwen2_5_72b", 72'706'203'648},
      Published{"qwen3_30b_a3b", 30'532'122'624}, Published{"qwen3_235b_a22b", 235'093'634'560},
      Published{"deepseek_v3", 671'026'419'200 - 58 * 256}, Published{"opt_125m", 125'239'296},
      Published{"opt_1_3b", 1'315'758'080}, Published{"opt_6_7b", 6'658'473'984},
      Published{"bloom_560m", 559'214'592}, Published{"bloom_7b1", 7'069'016'064},
      Published{"bloom_176b", 176'247'271'424}, Published{"mpt_7b", 6'649'286'656});
  CAPTURE(published.name);
  CHECK(make(published.name).parameter_count() == published.parameters);
}

TEST_CASE("GPT-3's sizes are those of its table to two digits", "[models]") {
  struct Published {
    const char* name;
    double parameters;
  };
  // Brown et al., arXiv 2005.14165, table 2.1
  const auto published = GENERATE(Published{"gpt3_125m", 125e6}, Published{"gpt3_350m", 350e6},
                                  Published{"gpt3_760m", 760e6}, Published{"gpt3_1_3b", 1.3e9},
                                  Published{"gpt3_2_7b", 2.7e9}, Published{"gpt3_6_7b", 6.7e9},
                                  Published{"gpt3_13b", 13.0e9}, Published{"gpt3_175b", 175.0e9});
  CAPTURE(published.name);
  CHECK(static_cast<double>(make(published.name).parameter_count()) ==
        Approx(published.parameters).epsilon(0.02));
}

TEST_CASE("A decoder's FLOPs are those of its definition", "[models]") {
  // A layer and token: queries, keys and values 2 h (a + 2 k) d, projection 2 a d h, attention over
  // the causal half 2 s a d, swiglu 6 h f; output 2 h v. Llama 3 8B:
  const double s = 8192;
  const double h = 4096;
  const double layer = 2 * h * (32 + 2 * 8) * 128 + 2 * h * h + 2 * s * h + 6 * h * 14'336;
  CHECK(forward_flops(make("llama3_8b")) == Approx(s * (32 * layer + 2 * h * 128'256)));

  // Mixtral: a router, and two of the eight experts a token
  const double sparse =
      2 * h * (32 + 2 * 8) * 128 + 2 * h * h + 2 * s * h + 2 * h * 8 + 2 * 6 * h * 14'336;
  CHECK(forward_flops(make("mixtral_8x7b")) == Approx(s * (32 * sparse + 2 * h * 32'000)));
}

TEST_CASE("A flash kernel does two products forward and five backward, half of them when causal",
          "[models]") {
  const ModelDescription model = make("llama2_7b");
  const ModelLayer& flash = test::layer(model, "model.layers.0.self_attn.flash");
  const double square = 4096.0 * 4096.0;
  CHECK(flash.forward.flops == Approx(2 * 2 * square / 2 * 4096));
  CHECK(flash.backward.flops == Approx(2.5 * flash.forward.flops));
  // q, k, v and the result; their gradients beside them backward: nothing of the scores
  CHECK(flash.forward.elements == 4 * 4096.0 * 4096.0);
  CHECK(flash.backward.elements == 8 * 4096.0 * 4096.0);

  ModelOptions eager;
  eager.attention = "eager";
  const ModelDescription unfused = make("llama2_7b", eager);
  const ModelLayer& softmax = test::layer(unfused, "model.layers.0.self_attn.softmax");
  CHECK(softmax.forward.elements == 2 * 32 * square);
}

TEST_CASE("Latent attention's kernel sees keys of 192 features and values of 128", "[models]") {
  const ModelDescription model = make("deepseek_v3");
  const ModelLayer& flash = test::layer(model, "model.layers.0.self_attn.flash");
  const double pairs = 4096.0 * 4096.0 / 2 * 128;
  CHECK(flash.forward.flops == Approx(2 * pairs * (192 + 128)));
  CHECK(flash.backward.flops == Approx(2 * pairs * (3 * 192 + 2 * 128)));
}

TEST_CASE("What is not given beside another width follows the family's rule", "[models]") {
  ModelOptions options;
  options.hidden = 2048;
  options.heads = 16;
  const DecoderShape shape = with_options(shape_of("transformer"), options);
  CHECK(shape.ffn == 5632);  // 8/3 of 2048 is 5461.3; the next multiple of 256
  CHECK(shape.kv_heads == 16);
  CHECK(with_options(shape_of("llama3_8b"), options).kv_heads == 8);
  options.activation = "gelu";
  CHECK(with_options(shape_of("transformer"), options).ffn == 8192);
  options.ffn = 1000;
  CHECK(with_options(shape_of("transformer"), options).ffn == 1000);
}

TEST_CASE("Experts stand in the layers that they are said to be in", "[models]") {
  ModelOptions options;
  options.layers = 4;
  options.experts = ExpertShape{.count = 4, .active = 1, .ffn = 64, .every = 2};
  const ModelDescription model = make("transformer", options);
  const auto routers = std::ranges::count_if(
      model.layers, [](const ModelLayer& layer) { return layer.name.ends_with(".router"); });
  CHECK(routers == 2);
  // every token through one of them: 3 products of 4096 x 64
  CHECK(test::layer(model, "model.layers.1.mlp.experts.down_proj").forward.flops ==
        Approx(2.0 * 4096 * 4096 * 64));
}

TEST_CASE("A compiler makes one kernel of norm, rotary positions and swiglu", "[models]") {
  const ModelDescription eager = make("llama2_7b");
  const ModelDescription compiled = fused(eager, Fusion::inductor);
  const double token = 4096.0 * 4096.0;
  const std::string layer = "model.layers.3.";
  // LlamaRMSNorm: to fp32 (reads 1, writes 2), square 2 + 2, mean 2, product 2 + 2, back 2 + 1,
  // weight 1 + 1
  CHECK(test::layer(eager, layer + "input_layernorm").forward.elements == 18 * token);
  CHECK(test::layer(compiled, layer + "input_layernorm").forward.elements == 2 * token);
  CHECK(test::layer(eager, layer + "self_attn.q_rotary").forward.elements == 10 * token);
  CHECK(test::layer(compiled, layer + "self_attn.q_rotary").forward.elements == 2 * token);
  CHECK(test::layer(eager, layer + "mlp.act").forward.kernels == 2);
  CHECK(test::layer(compiled, layer + "mlp.act").forward.elements == 3 * 4096.0 * 11'008);
}
