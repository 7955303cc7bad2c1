#include "strategies/compression/low_rank.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

/// Kernels for a column of Gram-Schmidt: norm, division, product with the rest, its sum, product
/// with the column, subtraction (powerSGD_hook.py, _orthogonalize_gram_schmidt).
constexpr int kernels_a_column = 6;
/// torch.linalg.qr of a narrow fp32 matrix on a GPU, where cuSOLVER's launches take the time, not
/// the rows: least squares over what is published for 2 to 64 columns and 16 to 8192 rows
/// (pytorch/pytorch pull requests 76673 and 173788, FlagGems/FlagGems 5586: 53 to 118 us at 2 to 8
/// columns, 179 and 189 at 32, 259 at 64). On newer GPUs 4 columns take 53 to 75.
constexpr Seconds qr_time{81.4e-6};
constexpr Seconds qr_column_time{2.92e-6};
/// The reflectors are found column by column, and applied once more to form Q.
constexpr std::int64_t qr_passes = 2;

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

CodecWork orthogonalise(const LowRankGroup& group, bool left, std::int64_t qr_from) {
  CodecWork work{.label = left ? "orthogonalise P" : "orthogonalise Q"};
  std::int64_t moved = 0;
  for (const auto& matrix : group.matrices) {
    const std::int64_t side = left ? matrix.rows : matrix.columns;
    const bool qr = matrix.rank >= qr_from;
    const std::int64_t passes = qr ? qr_passes : 1;
    // Each column is taken out of all that follow: rank^2 / 2 columns are read twice and written.
    moved += passes * 3 * side * matrix.rank * (matrix.rank + 1) / 2;
    work.flops += 2.0 * static_cast<double>(passes * side * matrix.rank * matrix.rank);
    work.kernels += qr ? 1 : static_cast<int>(matrix.rank) * kernels_a_column;
    if (qr) work.time += qr_time + static_cast<double>(matrix.rank) * qr_column_time;
  }
  work.traffic = fp32_size(moved);
  return work;
}

}  // namespace gradwire
