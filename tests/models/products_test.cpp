#include "sim/models/products.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// The rate at which each of 100 multiprocessors does 1e12 operations a second. Tiles as cuBLAS's,
/// whose kernels bear their sizes in their names.
constexpr int multiprocessors = 100;
constexpr double rate = 100e12;
constexpr KernelConstants kernels{
    .tile_latency = Seconds{1e-6},
    .attention_backward_wait = Seconds{2e-6},
    .fp32_half_intensity = 8,
    .matrix_half_intensity = 32,
    .fp32_tiles = {{{128, 128}, {128, 64}, {64, 64}, {128, 32}, {32, 32}}},
    .matrix_tiles = {{{256, 128}, {128, 128}, {256, 64}, {128, 64}, {64, 64}, {128, 32}}},
    .split_depth_min = 256};

double seconds(const MatrixShape& product, bool matrix_units) {
  return products_time({product}, multiprocessors, matrix_units, rate, kernels).count();
}

ModelLayer convolution(std::int64_t channels, std::int64_t stride, bool input_gradient = true) {
  ModelLayer layer;
  layer.convolution = ConvolutionShape{.in_channels = channels,
                                       .out_channels = 64,
                                       .kernel_height = 3,
                                       .kernel_width = 3,
                                       .stride = stride,
                                       .groups = 1,
                                       .out_height = 14,
                                       .out_width = 14};
  layer.forward.flops = 1;
  layer.backward.flops = input_gradient ? 2 : 1;
  return layer;
}

bool same(const MatrixShape& a, std::int64_t rows, std::int64_t columns, std::int64_t depth,
          std::int64_t count) {
  return a.rows == rows && a.columns == columns && a.depth == depth && a.count == count;
}

}  // namespace

TEST_CASE("a product that fills every multiprocessor takes its operations and one pipeline a wave",
          "[models][products]") {
  // 1280 x 1280 by tiles of 128 x 128 on fp32 units: 100 blocks, one a multiprocessor.
  // 2 x 128 x 128 x 1024 operations at 1e12/s, and 1 us: 33.554 us + 1 us
  const MatrixShape full = {.rows = 1280, .columns = 1280, .depth = 1024};
  CHECK(seconds(full, false) == Approx(34.554e-6).epsilon(1e-3));
}

TEST_CASE("what does not fit into one wave takes the tiles that waste least of the last",
          "[models][products]") {
  // 10 x 11 blocks of 128 x 128 take two waves, 69.1 us. Tiles of 64 x 64, 20 x 22 = 440 blocks in
  // five waves, do better, though they reach (32 / 40) / (64 / 72) = 90 % of the rate:
  // 5 x (8.389 us / 0.9 + 1 us) = 51.60 us
  const MatrixShape more = {.rows = 1280, .columns = 1408, .depth = 1024};
  CHECK(seconds(more, false) == Approx(51.60e-6).epsilon(1e-3));
}

TEST_CASE("a deep product of few tiles is split along its depth", "[models][products]") {
  // One tile of 128 x 128; as wide as deep it would keep one multiprocessor busy.
  const MatrixShape narrow = {.rows = 128, .columns = 128, .depth = 25600};
  // 100 parts of a depth of 256: 2 x 128 x 128 x 256 operations, 8.389 us, and 1 us
  CHECK(seconds(narrow, false) == Approx(9.389e-6).epsilon(1e-3));
}

TEST_CASE("a product narrower than a tile pays for the tile", "[models][products]") {
  // 8 columns in tiles of 128 x 32: 100 blocks; intensity 25.6 against 64 with half at 8:
  // 2 x 128 x 32 x 512 operations, 4.194 us / ((25.6 / 33.6) / (64 / 72)) + 1 us = 5.893 us
  const MatrixShape narrow = {.rows = 12800, .columns = 8, .depth = 512};
  CHECK(seconds(narrow, false) == Approx(5.893e-6).epsilon(1e-3));
}

TEST_CASE("several products of a layer run one after the other", "[models][products]") {
  const MatrixShape one = {.rows = 1280, .columns = 1280, .depth = 1024};
  CHECK(products_time({one, one}, multiprocessors, false, rate, kernels).count() ==
        Approx(2 * seconds(one, false)));
}

TEST_CASE("a convolution comes down to a product of positions, channels and window",
          "[models][products]") {
  // 2 images of 14 x 14: 392 positions; 3 x 3 x 32 = 288 deep
  const auto forward = plans_of(convolution(32, 1), 2, Direction::forward, true);
  REQUIRE(forward.size() == 1);
  REQUIRE(forward.front().products.size() == 1);
  CHECK(same(forward.front().products[0], 392, 64, 288, 1));
  const auto backward = plans_of(convolution(32, 1), 2, Direction::backward, true);
  REQUIRE(backward.size() == 1);
  REQUIRE(backward.front().products.size() == 2);
  CHECK(same(backward.front().products[0], 64, 288, 392, 1));  // of the weights
  CHECK(same(backward.front().products[1], 392, 32, 576, 1));  // of the input
}

TEST_CASE("the first convolution has no product for its input's gradient", "[models][products]") {
  const auto plans = plans_of(convolution(32, 2, false), 2, Direction::backward, true);
  REQUIRE(plans.size() == 1);
  CHECK(plans.front().products.size() == 1);
}

TEST_CASE("on fp32 units a 3x3 convolution of stride 1 may go Winograd's two ways",
          "[models][products]") {
  const auto plans = plans_of(convolution(32, 1), 2, Direction::forward, false);
  REQUIRE(plans.size() == 2);
  // F(2x2): 7 x 7 tiles of 2 images, 16 products; F(4x4): 4 x 4 tiles, for 14 is no multiple of 4.
  CHECK(same(plans[0].products[0], 98, 64, 32, 16));
  CHECK(plans[0].traffic == 1);
  CHECK(same(plans[1].products[0], 32, 64, 32, 36));
  // read 1, operands written and read 2 x 36 / 16, results the same, of which each side has half
  CHECK(plans[1].traffic == 5.5);
  // its gradients only the second, and a stride neither
  CHECK(plans_of(convolution(32, 1), 2, Direction::backward, false).size() == 1);
  const auto strided = plans_of(convolution(32, 2), 2, Direction::forward, false);
  REQUIRE(strided.size() == 1);
  CHECK(same(strided[0].products[0], 392, 64, 288, 1));
}

TEST_CASE("a product by weights has the batch as rows, one of activations as count",
          "[models][products]") {
  ModelLayer layer;
  layer.product = MatrixShape{.rows = 128, .columns = 64, .depth = 32, .count = 4};
  layer.forward.flops = 1;
  layer.backward.flops = 2;
  layer.product->weight_operand = false;
  const auto attention = plans_of(layer, 8, Direction::forward, true);
  CHECK(same(attention.front().products[0], 128, 64, 32, 32));
  layer.product->weight_operand = true;
  layer.product->count = 1;
  const auto linear = plans_of(layer, 8, Direction::forward, true);
  CHECK(same(linear.front().products[0], 1024, 64, 32, 1));
}

TEST_CASE("fused attention multiplies whole tiles, of causal scores those up to the diagonal",
          "[models][products]") {
  // 200 tokens are 2 tiles of 128 a side: 4 of 128 x 128 scores a head, causal 3 of them; forward
  // 2 x (64 + 64) operations a score, backward 2 x 5 x 64. Blocks: 2 samples, 3 heads, 2 tiles.
  ModelLayer layer;
  for (const bool causal : {false, true}) {
    layer.fused_attention = FusedAttention{
        .queries = 200, .keys = 200, .heads = 3, .size = 64, .value_size = 64, .causal = causal};
    const double scores = 2.0 * 3 * (causal ? 3 : 4) * 128 * 128;
    const auto forward = plans_of(layer, 2, Direction::forward, true);
    REQUIRE(forward.size() == 1);
    REQUIRE(forward[0].attention);
    CHECK(forward[0].attention->flops == scores * 2 * 128);
    CHECK(forward[0].attention->blocks == 12);
    CHECK(plans_of(layer, 2, Direction::backward, true)[0].attention->flops == scores * 2 * 5 * 64);
  }
}

TEST_CASE("blocks of fused attention wait once a wave", "[models][products]") {
  // 201 blocks on 100 multiprocessors are 3 waves: 1e12 operations at 100e12 a second and 3 x 2 us
  const AttentionTiles tiles = {.flops = 1e12, .blocks = 201, .backward = true};
  CHECK(attention_time(tiles, multiprocessors, rate, kernels).count() == Approx(10e-3 + 6e-6));
}
