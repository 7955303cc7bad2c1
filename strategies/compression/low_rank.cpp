#include "strategies/compression/low_rank.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

/// Kernels for a column of Gram-Schmidt: norm, division, product with the rest, its sum, product
/// with the column, subtraction (powerSGD_hook.py, _orthogonalize). A Householder QR launches about
/// as many; assumed for ACP-SGD, whose torch.linalg.qr was not counted.
constexpr int kernels_a_column = 6;

}  // namespace

MatrixView matrix_of(const TensorInfo& tensor, std::int64_t rank) {
  const std::int64_t rows = tensor.shape.empty() ? tensor.elements : tensor.shape.front();
  const std::int64_t columns = rows == 0 ? 0 : tensor.elements / rows;
  return {rows, columns, std::min({rank, rows, columns})};
}

std::int64_t LowRankGroup::matrix_elements() const {
  std::int64_t sum = 0;
  for (const auto& matrix : matrices) sum += matrix.rows * matrix.columns;
  return sum;
}
std::int64_t LowRankGroup::p_elements() const {
  std::int64_t sum = 0;
  for (const auto& matrix : matrices) sum += matrix.rows * matrix.rank;
  return sum;
}
std::int64_t LowRankGroup::q_elements() const {
  std::int64_t sum = 0;
  for (const auto& matrix : matrices) sum += matrix.columns * matrix.rank;
  return sum;
}

LowRankGroup as_square(std::int64_t elements, std::int64_t rank) {
  const auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(elements))));
  return {.matrices = {{side, side, std::min(rank, side)}}};
}

CodecWork products(const LowRankGroup& group, std::string label) {
  CodecWork work{.label = std::move(label)};
  std::int64_t moved = 0;
  for (const auto& matrix : group.matrices) {
    work.flops += 2.0 * static_cast<double>(matrix.rows * matrix.columns * matrix.rank);
    moved += matrix.rows * matrix.columns + (matrix.rows + matrix.columns) * matrix.rank;
    ++work.kernels;
  }
  work.traffic = fp32_size(moved);
  return work;
}

CodecWork orthogonalise(const LowRankGroup& group, bool left) {
  CodecWork work{.label = left ? "orthogonalise P" : "orthogonalise Q"};
  std::int64_t moved = 0;
  for (const auto& matrix : group.matrices) {
    const std::int64_t side = left ? matrix.rows : matrix.columns;
    // Each column is taken out of all that follow: rank^2 / 2 columns are read twice and written.
    moved += 3 * side * matrix.rank * (matrix.rank + 1) / 2;
    work.flops += 2.0 * static_cast<double>(side * matrix.rank * matrix.rank);
    work.kernels += static_cast<int>(matrix.rank) * kernels_a_column;
  }
  work.traffic = fp32_size(moved);
  return work;
}

}  // namespace gradwire
