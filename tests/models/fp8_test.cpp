#include "sim/models/fp8.hpp"

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/decoder.hpp"
#include "sim/models/recompute.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

/// Of so many experts, if any.
ModelDescription small(int experts = 0) {
  ModelOptions options = test::small_decoder(112);
  if (experts > 0) options.experts = ExpertShape{.count = experts, .active = 2, .ffn = 32};
  return decoder(with_options(config::published_decoders().back(), options));
}

/// On an H100 a model of one layer 8192 wide, of 8192 tokens, under the recipe.
ComputeProfile wide(Fp8Recipe recipe, bool master_weights = true) {
  ModelOptions options;
  options.layers = 1;
  options.hidden = 8192;
  options.heads = 64;
  options.vocabulary = 128;
  options.sequence_length = 8192;
  AnalyticOptions how;
  how.fp8_recipe = recipe;
  how.optimizer = "adamw";
  how.master_weights = master_weights;
  return analytic_profile(config::shipped_hosts(),
                          decoder(with_options(config::published_decoders().back(), options)),
                          config::shipped_gpu("h100-sxm5-80gb", {}), 1, "bf16", how);
}

const LayerProfile& layer_of(const ComputeProfile& profile, const std::string& end) {
  return *std::ranges::find_if(profile.layers,
                               [&](const LayerProfile& l) { return l.name.ends_with(end); });
}

}  // namespace

TEST_CASE("Linear layers of blocks multiply in 8 bits, heads, routers and attention do not",
          "[models][fp8]") {
  const ModelDescription model = in_fp8(small(), Fp8Recipe::delayed);
  int products = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.fp8) ++products;
    if (layer.fused_attention || layer.name == "lm_head") CHECK_FALSE(layer.fp8);
  }
  CHECK(products == 2 * 7);  // q k v o gate up down
  CHECK(fp8_weights(model) == 2.0 * (4 * 64 * 64 + 3 * 64 * 128));
  for (const ModelLayer& layer : in_fp8(small(16), Fp8Recipe::delayed).layers) {
    if (layer.name.ends_with(".router")) CHECK_FALSE(layer.fp8);
  }
  CHECK(in_fp8(small(), Fp8Recipe::none).layers.size() == small().layers.size());
}

TEST_CASE("A cast to 8 bits reads once and writes twice, tensorwise it reads once more",
          "[models][fp8]") {
  const auto cast = [](Fp8Recipe recipe) {
    return test::layer(in_fp8(small(), recipe), "model.layers.0.mlp.up_proj.cast");
  };
  // elements of two bytes: input 32 tokens 64 wide, the result's gradient 128 wide
  CHECK(cast(Fp8Recipe::delayed).forward.elements == (2 + 1 + 1) / 2.0 * 32 * 64);
  CHECK(cast(Fp8Recipe::delayed).backward.elements == (2 + 1 + 1) / 2.0 * 32 * 128);
  CHECK(cast(Fp8Recipe::tensorwise).forward.elements == (2 + 2 + 1 + 1) / 2.0 * 32 * 64);
  CHECK(cast(Fp8Recipe::tensorwise).forward.kernels == 2);
  // what is made again is cast again
  const ModelDescription again =
      recomputed(in_fp8(small(), Fp8Recipe::delayed), {Recompute::full}, true);
  CHECK(test::layer(again, "model.layers.0.mlp.up_proj.cast").made_again);
}

TEST_CASE("Wide products of 8 bits on an H100 are 1.8 times as fast as bf16's", "[models][fp8]") {
  // the median of 108 shapes each way, see profiles/efficiencies/hopper.yaml
  const ComputeProfile bf16 = wide(Fp8Recipe::none);
  const ComputeProfile fp8 = wide(Fp8Recipe::delayed);
  CHECK(layer_of(bf16, "mlp.up_proj").forward / layer_of(fp8, "mlp.up_proj").forward ==
        Approx(1.8).epsilon(0.02));
  CHECK(layer_of(bf16, "lm_head").forward == layer_of(fp8, "lm_head").forward);
  CHECK(fp8.iteration < bf16.iteration);
  CHECK(wide(Fp8Recipe::tensorwise).iteration > fp8.iteration);
  CHECK(fp8.parameter_count() == bf16.parameter_count());
  CHECK(fp8.fp8);
}

TEST_CASE("Without master weights a step moves half and casts nothing", "[models][fp8]") {
  const ComputeProfile with = wide(Fp8Recipe::none);
  const ComputeProfile without = wide(Fp8Recipe::none, false);
  CHECK(*without.optimizer_state == Bytes{4});
  CHECK(*with.optimizer_state == Bytes{8});
  // AdamW's 93 bytes a parameter and the casts' 12
  CHECK(without.optimizer / with.optimizer == Approx(93 / 2.0 / (93 + 12)));
  CHECK_FALSE(without.master_weights);
}
