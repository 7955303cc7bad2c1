#pragma once

#include <cstdint>
#include <vector>

#include "strategies/compression/compressor.hpp"

namespace gradwire {

/// A gradient seen as a matrix: its first dimension times the rest, and the rank of its factors.
struct MatrixView {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;  ///< min(rank asked for, rows, columns)
};

/// The matrix of a tensor. A vector is one of a single column.
[[nodiscard]] MatrixView matrix_of(const TensorInfo& tensor, std::int64_t rank);

/// The gradients of a group, as low-rank compressors part them.
struct LowRankGroup {
  std::vector<MatrixView> matrices{};
  std::int64_t raw = 0;          ///< elements that stay as they are
  std::int64_t raw_tensors = 0;  ///< that hold them

  [[nodiscard]] std::int64_t matrix_elements() const;
  [[nodiscard]] std::int64_t p_elements() const;  ///< sum of rows * rank
  [[nodiscard]] std::int64_t q_elements() const;  ///< sum of columns * rank
};

/// A matrix of ceil(sqrt(elements)) rows and columns: the batched hook's view of a bucket, and here
/// also that of a part of tensors, whose rows are not known.
[[nodiscard]] LowRankGroup as_square(std::int64_t elements, std::int64_t rank);

/// Products of every matrix with one factor: 2 * rows * columns * rank operations each, one kernel
/// each; the matrix is read (or written), and so are both factors.
[[nodiscard]] CodecWork products(const LowRankGroup& group, std::string label);

/// Orthogonalises factors: by Gram-Schmidt, column after column in kernels of their own, or by the
/// library's QR, in one call.
/// @param left     the P's (rows x rank), else the Q's (columns x rank).
/// @param qr_from  factors of at least this rank by QR.
[[nodiscard]] CodecWork orthogonalise(const LowRankGroup& group, bool left, std::int64_t qr_from);

}  // namespace gradwire
