#include "sim/models/products.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>

namespace gradwire {
namespace {

using Tile = KernelConstants::Tile;

/// A side of fused attention's tiles (Dao, arXiv 2307.08691, section 3.3: 64 or 128).
constexpr std::int64_t attention_tile = 128;

std::int64_t ceiling(std::int64_t amount, std::int64_t part) {
  return (amount + part - 1) / part;
}

double intensity_share(const Tile& tile, double half) {
  const double rows = tile[0];
  const double columns = tile[1];
  const double intensity = rows * columns / (rows + columns);
  return intensity / (intensity + half);
}

/// A side of the outputs that one product of Winograd's covers, and of its operands.
struct WinogradTile {
  std::int64_t outputs = 0;
  std::int64_t operands = 0;
  double traffic = 1;
};
/// Non-fused: a tensor is read, its operands written and read, the results written and read, the
/// output written; operands are (6 / 4)^2 times as many as elements: 1 + 2 x 2.25.
constexpr std::array<WinogradTile, 2> winograd_tiles = {{{2, 4, 1}, {4, 6, 5.5}}};

/// The products of a convolution over `rows` positions by windows of `window`, `count` times.
KernelPlan convolution_plan(const ConvolutionShape& shape, const MatrixShape& forward,
                            std::int64_t window, Direction direction, bool input_gradient) {
  if (direction == Direction::forward) return {.products = {forward}};
  KernelPlan plan;
  plan.products.push_back({.rows = shape.out_channels,
                           .columns = shape.in_channels * window,
                           .depth = forward.rows,
                           .count = forward.count});
  if (input_gradient) {
    plan.products.push_back({.rows = forward.rows,
                             .columns = shape.in_channels,
                             .depth = shape.out_channels * window,
                             .count = forward.count});
  }
  return plan;
}

std::vector<KernelPlan> convolution_plans(const ConvolutionShape& shape, int batch,
                                          Direction direction, bool input_gradient,
                                          bool matrix_units) {
  if (shape.groups > 1) return {};
  const std::int64_t window = shape.kernel_height * shape.kernel_width;
  const bool square3 = shape.kernel_height == 3 && shape.kernel_width == 3;
  if (matrix_units || !square3 || shape.stride > 1 || shape.in_channels <= stem_channels_max) {
    const MatrixShape forward = {.rows = batch * shape.out_height * shape.out_width,
                                 .columns = shape.out_channels,
                                 .depth = shape.in_channels * window};
    return {convolution_plan(shape, forward, window, direction, input_gradient)};
  }
  std::vector<KernelPlan> plans;
  for (const WinogradTile& tile : winograd_tiles) {
    if (tile.traffic <= 1 && direction == Direction::backward) continue;
    const MatrixShape forward = {.rows = batch * ceiling(shape.out_height, tile.outputs) *
                                         ceiling(shape.out_width, tile.outputs),
                                 .columns = shape.out_channels,
                                 .depth = shape.in_channels,
                                 .count = tile.operands * tile.operands};
    plans.push_back(convolution_plan(shape, forward, 1, direction, input_gradient));
    plans.back().traffic = tile.traffic;
  }
  return plans;
}

AttentionTiles attention_tiles(const FusedAttention& shape, int batch, Direction direction) {
  const std::int64_t rows = ceiling(shape.queries, attention_tile);
  const std::int64_t columns = ceiling(shape.keys, attention_tile);
  const std::int64_t all = shape.causal ? rows * (columns + 1) / 2 : rows * columns;
  const auto scores =
      static_cast<double>(batch * shape.heads * all * attention_tile * attention_tile);
  const auto size = static_cast<double>(shape.size);
  const auto value_size = static_cast<double>(shape.value_size);
  const bool forward = direction == Direction::forward;
  return {.flops = 2 * scores * (forward ? size + value_size : 3 * size + 2 * value_size),
          .blocks = batch * shape.heads * (forward ? rows : columns),
          .backward = !forward};
}

std::vector<MatrixShape> matrix_products(const MatrixShape& shape, int batch, Direction direction,
                                         bool input_gradient) {
  MatrixShape forward = shape;
  (shape.weight_operand ? forward.rows : forward.count) *= batch;
  if (direction == Direction::forward) return {forward};
  MatrixShape right = forward;  // of the weights, or of the right operand
  right.rows = forward.depth;
  right.depth = forward.rows;
  if (!input_gradient) return {right};
  MatrixShape left = forward;
  left.columns = forward.depth;
  left.depth = forward.columns;
  return {right, left};
}

/// What one product takes with the best tile and split, in seconds.
double product_time(const MatrixShape& product, int multiprocessors, bool matrix_units, double rate,
                    const KernelConstants& kernels) {
  const std::span<const Tile> tiles =
      matrix_units ? std::span<const Tile>(kernels.matrix_tiles) : kernels.fp32_tiles;
  const double half = matrix_units ? kernels.matrix_half_intensity : kernels.fp32_half_intensity;
  const double largest = intensity_share(tiles.front(), half);
  double best = INFINITY;
  const auto consider = [&](const Tile& tile, double share, std::int64_t split) {
    const auto [rows, columns] = tile;
    const std::int64_t blocks =
        ceiling(product.rows, rows) * ceiling(product.columns, columns) * product.count * split;
    const double work = 2.0 * static_cast<double>(rows * columns) *
                        static_cast<double>(ceiling(product.depth, split));
    const double block = work * multiprocessors / (rate * share) + kernels.tile_latency.count();
    best = std::min(best, static_cast<double>(ceiling(blocks, multiprocessors)) * block);
    return blocks;
  };
  const auto with_splits = [&](const Tile& tile, double share) {
    const std::int64_t blocks = consider(tile, share, 1);
    const std::int64_t split =
        std::min(multiprocessors / blocks, product.depth / kernels.split_depth_min);
    if (split > 1) consider(tile, share, split);
  };
  for (const Tile& tile : tiles) {
    const double share = intensity_share(tile, half) / largest;
    with_splits(tile, share);
    if (tile[0] != tile[1]) with_splits({tile[1], tile[0]}, share);
  }
  return best;
}

}  // namespace

std::vector<KernelPlan> plans_of(const ModelLayer& layer, int batch, Direction direction,
                                 bool matrix_units) {
  assert(batch >= 1);
  const bool input_gradient = layer.backward.flops > 1.5 * layer.forward.flops;
  if (layer.convolution) {
    return convolution_plans(*layer.convolution, batch, direction, input_gradient, matrix_units);
  }
  if (layer.fused_attention) {
    return {
        {.products = {}, .attention = attention_tiles(*layer.fused_attention, batch, direction)}};
  }
  if (!layer.product) return {};
  return {{.products = matrix_products(*layer.product, batch, direction, input_gradient)}};
}

Seconds products_time(const std::vector<MatrixShape>& products, int multiprocessors,
                      bool matrix_units, double rate, const KernelConstants& kernels) {
  assert(multiprocessors >= 1 && rate > 0);
  double time = 0;
  for (const MatrixShape& product : products) {
    time += product_time(product, multiprocessors, matrix_units, rate, kernels);
  }
  return Seconds{time};
}

Seconds attention_time(const AttentionTiles& tiles, int multiprocessors, double rate,
                       const KernelConstants& kernels) {
  assert(multiprocessors >= 1 && rate > 0);
  const auto waves = static_cast<double>(ceiling(tiles.blocks, multiprocessors));
  return Seconds{tiles.flops / rate} +
         waves * (tiles.backward ? kernels.attention_backward_wait : kernels.tile_latency);
}

}  // namespace gradwire
