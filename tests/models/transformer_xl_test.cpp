#include "sim/models/text_models.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "sim/models/adaptive_softmax.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

constexpr std::int64_t words = 267'735;

/// Parameters of a layer and of the two vectors that all share; d wide, f inside.
std::int64_t layers_of(std::int64_t layers, std::int64_t d, std::int64_t f) {
  return layers * (5 * d * d + 2 * d + 2 * d * f + f + d + 2 * d) + 2 * d;
}

double flops_of(const ModelDescription& model, const std::string& prefix) {
  double flops = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.name.starts_with(prefix)) flops += layer.forward.flops;
  }
  return flops;
}

}  // namespace

TEST_CASE("Transformer-XL has the parameters of NVIDIA's code", "[models]") {
  // mem_transformer.py and proj_adaptive_softmax.py with wt103_base.yaml: one table, a bias a word,
  // three more outputs that stand for clusters
  const std::int64_t base = transformer_xl_base({}).parameter_count();
  CHECK(base == words * 512 + layers_of(16, 512, 2048) + words + 3 * 512 + 3);
  CHECK(base == 191'950'298);
  // wt103_large.yaml: tables of 1024, 256, 64 and 16 with a projection each, and one of the head
  const std::int64_t tables = 19'997 * 1024 + 20'000 * 256 + 160'000 * 64 + 67'738 * 16;
  const std::int64_t projections = 1024 * (1024 + 256 + 64 + 16);
  const std::int64_t large = transformer_xl_large({}).parameter_count();
  CHECK(large ==
        tables + projections + 1024 * 1024 + layers_of(18, 1024, 4096) + words + 3 * 1024 + 3);
  CHECK(large == 285'167'482);
}

TEST_CASE("Transformer-XL's layers compute on the remembered tokens, too", "[models]") {
  // L new tokens, 2 L keys: projections of 2 L tokens 6 d^2, two scores and the context of
  // L x 2 L x d each, the output 2 d^2, feed-forward 4 d f of L tokens
  const double l = 192;
  const double d = 512;
  const double layer = 2 * l * 6 * d * d + 3 * 2 * l * 2 * l * d + l * 2 * d * d + l * 4 * d * 2048;
  CHECK(flops_of(transformer_xl_base({}), "layers.") == Approx(16 * layer));
  ModelOptions options;
  options.sequence_length = 96;
  CHECK(flops_of(transformer_xl_base(options), "layers.") ==
        Approx(16 * (layer / 2 - 3 * l * l * d)));
  CHECK(transformer_xl_large({}).tokens == 384);
  // what the next step remembers: 16 layers' inputs
  CHECK(test::layer(transformer_xl_base({}), "new_mems").kept == 16 * l * d);
}

TEST_CASE("By Zipf's law four tokens of five are of WikiText's 19,997 most frequent words",
          "[models]") {
  // (ln 19997 + 0.577) / (ln 267735 + 0.577) = 0.802; until 39997 0.855, until 199997 0.978
  CHECK(tokens_of_cluster(0, 1000) == 802);
  CHECK(tokens_of_cluster(1, 1000) == 53);
  CHECK(tokens_of_cluster(2, 1000) == 123);
  CHECK(tokens_of_cluster(3, 1000) == 22);
  // rare words are met in the shortest text
  CHECK(tokens_of_cluster(3, 1) == 1);
  // the head: every token over 19997 words and three clusters
  const ModelDescription model = transformer_xl_base({});
  CHECK(test::layer(model, "crit.head").forward.flops == 2.0 * 192 * 512 * 20'000);
  // 0.123 x 192 = 23.6 tokens over the third cluster's words
  CHECK(test::layer(model, "crit.tail.2").forward.flops == 2.0 * 24 * 512 * 160'000);
}

TEST_CASE("Each cluster's slice of one table writes and adds a gradient of the whole table",
          "[models]") {
  const ModelLayer slices = test::layer(transformer_xl_base({}), "crit.slices");
  // four slices, zeros (1) and a sum (3)
  CHECK(slices.weights_read_again == 16.0 * words * 512);
  CHECK(slices.forward.kernels == 0);
  const ModelDescription large = transformer_xl_large({});
  CHECK(std::ranges::count(large.layers, std::string("crit.slices"), &ModelLayer::name) == 0);
}

TEST_CASE("Transformer-XL's tensors are registered as its modules are, its own vectors first",
          "[models]") {
  // RelMultiHeadAttn makes qkv_net, o_net, layer_norm, its subclass r_net behind them
  const ModelDescription base = transformer_xl_base({});
  const auto registered = test::names(base, base.registration_order);
  CHECK(std::vector<std::string>(registered.begin(), registered.begin() + 8) ==
        std::vector<std::string>{
            "r_w_bias", "r_r_bias", "word_emb.emb_layers.0.weight",
            "layers.0.dec_attn.qkv_net.weight", "layers.0.dec_attn.o_net.weight",
            "layers.0.dec_attn.layer_norm.weight", "layers.0.dec_attn.layer_norm.bias",
            "layers.0.dec_attn.r_net.weight"});
  const ModelDescription large = transformer_xl_large({});
  const auto of_large = test::names(large, large.registration_order);
  CHECK(std::vector<std::string>(of_large.end() - 7, of_large.end()) ==
        std::vector<std::string>{"crit.cluster_weight", "crit.cluster_bias",
                                 "crit.out_layers_biases.0", "crit.out_layers_biases.1",
                                 "crit.out_layers_biases.2", "crit.out_layers_biases.3",
                                 "crit.out_projs.0"});
  // the embedding's tables are the softmax's, and wait for both
  CHECK(test::names(base, base.gradient_order).back() == "word_emb.emb_layers.0.weight");
}
