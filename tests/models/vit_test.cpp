#include "sim/models/image_models.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

ModelDescription attending(const char* attention) {
  ModelOptions options;
  options.attention = attention;
  return vit_b_16(options);
}

/// Sum over the layers of what `of` says of one.
template <typename Of>
double sum(const ModelDescription& model, const Of& of) {
  double all = 0;
  for (const ModelLayer& layer : model.layers) all += of(layer);
  return all;
}

}  // namespace

TEST_CASE(
    "nn.MultiheadAttention copies what attention on views does not, and keeps its result twice",
    "[models][vit]") {
  const ModelDescription with = attending(multihead_attention);
  const ModelDescription without = attending("flash");
  CHECK(with.parameter_count() == without.parameter_count());
  // In tensors of a block: forward input 2, queries, keys and values 6, result 2; backward three
  // slices of 3 + 2, two sums of 9, the three copies but the one that both have.
  const double n = 12.0 * 197 * 768;
  const auto moved = [](const ModelLayer& layer) { return layer.forward.elements; };
  const auto moved_back = [](const ModelLayer& layer) { return layer.backward.elements; };
  const auto kept = [](const ModelLayer& layer) { return layer.kept; };
  CHECK(sum(with, moved) - sum(without, moved) == Approx(10 * n));
  CHECK(sum(with, moved_back) - sum(without, moved_back) == Approx((15 + 18 + 4) * n));
  CHECK(sum(with, kept) - sum(without, kept) == Approx(n));
}

// Of scores of 12 heads and 197 x 197 pairs a block: their scale reads and writes them, softmax the
// same; what the weights come from is kept, and the weights. Products as of one kernel.
TEST_CASE("Eager attention of a vision transformer has its scores in memory", "[models][vit]") {
  const ModelDescription eager = attending("eager");
  const ModelDescription fused = attending("flash");
  CHECK(eager.parameter_count() == fused.parameter_count());
  const double scores = 12.0 * 12 * 197 * 197;
  const auto moved = [](const ModelLayer& layer) { return layer.forward.elements; };
  const auto kept = [](const ModelLayer& layer) { return layer.kept; };
  CHECK(sum(eager, moved) - sum(fused, moved) >= 4 * scores);
  CHECK(sum(eager, kept) - sum(fused, kept) >= scores);
  const auto flops = [](const ModelLayer& layer) { return layer.forward.flops; };
  CHECK(sum(eager, flops) == Approx(sum(fused, flops)));
}

TEST_CASE(
    "torchvision's vision transformers attend by nn.MultiheadAttention, the small one as timm's",
    "[models][vit]") {
  const auto copies = [](const ModelDescription& model) {
    return std::ranges::count_if(model.layers, [](const ModelLayer& layer) {
      return layer.name.ends_with("self_attention.copies");
    });
  };
  CHECK(copies(vit_b_16({})) == 12);
  CHECK(copies(vit_l_16({})) == 24);
  CHECK(copies(vit_h_14({})) == 32);
  CHECK(copies(vit_s_16({})) == 0);
}

TEST_CASE("a GELU keeps its input beside its result, in a network with a convolution too",
          "[models][vit]") {
  // A block keeps, in tensors of 197 x 768: input, normed, queries, keys and values (3), result,
  // sum, normed, wide (4), its GELU (4): 16.
  const ModelDescription model = attending("flash");
  double kept = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.name.starts_with("encoder.layers.encoder_layer_5.")) kept += layer.kept;
  }
  CHECK(kept == Approx(16.0 * 197 * 768));
}
