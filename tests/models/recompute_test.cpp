#include "sim/models/recompute.hpp"

#include "sim/models/bert.hpp"
#include "sim/models/decoder.hpp"
#include "sim/models/resnet.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

/// Two layers 64 wide of 4 heads, 32 tokens, 100 words.
ModelDescription small() {
  ModelOptions options;
  options.layers = 2;
  options.hidden = 64;
  options.heads = 4;
  options.ffn = 128;
  options.vocabulary = 100;
  options.sequence_length = 32;
  return decoder(with_options(published_decoders().back(), options));
}

}  // namespace

TEST_CASE("Each activation that backward needs is kept once", "[models]") {
  const ModelDescription model = small();
  const double token = 64 * 32;
  const double wide = 128 * 32;
  // the norm's input; its result, which three products read; queries and keys behind their
  // rotation, values, the result of attention, which the projection reads; as much for the block's
  // second half, where gate and up and their product are wider
  const double half = token + token;
  const double block = half + 4 * token + half + 3 * wide;
  // the last norm's input and result
  const double logits = 100 * 32;
  const KeptActivations kept = kept_activations(model, Recompute::none);
  CHECK(kept.elements == 2 * block + 2 * token);
  CHECK(kept.logits == logits);
  // the logits in the type; the logarithm of their softmax and two gradients in fp32
  const ActivationMemory mixed = activation_memory(model, 3, "bf16", Recompute::none);
  CHECK(mixed.activations == 3 * 2 * (2 * block + 2 * token));
  CHECK(mixed.logits == 3 * (2 + 3 * 4) * logits);
  CHECK(activation_memory(model, 1, "fp32", Recompute::none).logits == (4 + 3 * 4) * logits);
}

TEST_CASE("Full recomputation keeps the inputs of blocks, and one block at a time", "[models]") {
  const double token = 64 * 32;
  const double block = 8 * token + 3 * 128 * 32;
  // the input of the block that is made again is there already
  CHECK(kept_activations(small(), Recompute::full).elements ==
        2 * token + (block - token) + 2 * token);
}

TEST_CASE("Selective recomputation keeps attention and every second product", "[models]") {
  // of seven products q k v o gate up down: q, v, gate and down of each block
  const double token = 64 * 32;
  const double wide = 128 * 32;
  const double block = 8 * token + 3 * wide;
  const double stays = token + token + 3 * token + wide;  // input, attention, products
  CHECK(kept_activations(small(), Recompute::selective).elements ==
        2 * stays + (block - stays) + 2 * token);
}

TEST_CASE("What is made again takes its forward work in backward", "[models]") {
  const ModelDescription model = small();
  const ModelDescription full = recomputed(model, Recompute::full);
  const ModelDescription selective = recomputed(model, Recompute::selective);
  const std::string norm = "model.layers.0.input_layernorm";
  const std::string flash = "model.layers.1.self_attn.flash";
  CHECK(test::layer(full, norm).backward.elements ==
        test::layer(model, norm).backward.elements + test::layer(model, norm).forward.elements);
  CHECK(test::layer(full, flash).backward.flops ==
        Approx(3.5 / 2.5 * test::layer(model, flash).backward.flops));
  CHECK(test::layer(selective, flash).backward.flops == test::layer(model, flash).backward.flops);
  // outside of the blocks nothing is
  CHECK(test::layer(full, "lm_head").backward.flops ==
        test::layer(model, "lm_head").backward.flops);
}

TEST_CASE("ResNet-50 trains with 64 images in 12 GB, not with 256", "[models]") {
  // tensorflow/benchmarks: 64 a GPU on a K80 (12 GB), README "--batch_size=64"; weights, gradients
  // and momentum take 0.3 GB
  const ModelDescription model = resnet50({});
  CHECK(activation_memory(model, 64, "fp32", Recompute::none).activations < 11.7e9);
  CHECK(activation_memory(model, 256, "fp32", Recompute::none).activations > 11.7e9);
}

TEST_CASE("Autocast keeps norms' inputs in fp32 and a cast for each product", "[models]") {
  // A layer of BERT-Base of 128 tokens: 2 norms of 768 (2 bytes more an element), queries, keys and
  // values each with their own cast of one of them (2 more each beyond the first), softmaxes of 12
  // heads in fp32 beside their cast (4 more). The first layer reads a dropout. Beside them the
  // norms of the embeddings and of the head's 20 positions.
  constexpr double tokens = 128;
  constexpr double width = 768;
  constexpr double layer = 2 * (2 * width) + 2 * (2 * width) + 4 * 12 * 128;
  const KeptActivations kept = kept_activations(bert_base({}), Recompute::none);
  CHECK(kept.autocast_bytes ==
        12 * tokens * layer - 4 * width * tokens + 2 * width * (tokens + 20));
}

TEST_CASE("A maximum is kept with where it was", "[models]") {
  // ResNet-50's pool: 64 x 56 x 56 maxima, 8 bytes each (torch.nn.functional.max_pool2d: int64)
  CHECK(kept_activations(resnet50({}), Recompute::none).bytes == 8.0 * 64 * 56 * 56);
}
