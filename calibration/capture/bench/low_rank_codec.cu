#include <cmath>

#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/cublas_api.hpp"
#include "calibration/capture/bench/hash.hpp"
#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {
namespace {

constexpr float norm_epsilon = 1e-8F;  // epfml/powersgd, gradient_reducers.py, orthogonalize
constexpr std::uint32_t factor_seed = 77;

__global__ void add(const float* gradient, float* matrix, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) matrix[i] += gradient[i];
}

__global__ void subtract(const float* restored, float* matrix, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) matrix[i] -= restored[i];
}

/// The sum over a block, to all its threads. Every thread must come here.
__device__ float sum_of_block(float value) {
  __shared__ double total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  add_of_block(value, &total);
  __syncthreads();
  const auto sum = static_cast<float>(total);
  __syncthreads();
  return sum;
}

/// Gram-Schmidt by one block: factors have few columns.
__global__ void orthogonalise(float* matrix, std::size_t rows, int columns) {
  for (int column = 0; column < columns; ++column) {
    float* current = matrix + static_cast<std::size_t>(column) * rows;
    float part = 0;
    for (std::size_t row = threadIdx.x; row < rows; row += blockDim.x) {
      part += current[row] * current[row];
    }
    const float norm = sqrtf(sum_of_block(part)) + norm_epsilon;
    for (std::size_t row = threadIdx.x; row < rows; row += blockDim.x) current[row] /= norm;
    __syncthreads();
    for (int later = column + 1; later < columns; ++later) {
      float* other = matrix + static_cast<std::size_t>(later) * rows;
      part = 0;
      for (std::size_t row = threadIdx.x; row < rows; row += blockDim.x) {
        part += current[row] * other[row];
      }
      const float shared = sum_of_block(part);
      for (std::size_t row = threadIdx.x; row < rows; row += blockDim.x) {
        other[row] -= shared * current[row];
      }
      __syncthreads();
    }
  }
}

/// A matrix as square as powers of two allow, by columns.
std::size_t rows_of(std::size_t elements) {
  std::size_t rows = 1;
  while (rows * rows * 4 <= elements) rows *= 2;
  return rows;
}

/// Low-rank factors with error feedback. PowerSGD: P = M Q, orthogonal; Q = M^T P; result P Q^T.
/// ACP-SGD, one factor a step: Q orthogonal, P = M Q, result P Q^T. The products are cuBLAS's in
/// fp32, as torch.matmul calls it. Both all-reduces lie between: the two halves of PowerSGD's
/// encoding are timed together. The error M - P Q^T is taken in the decoding.
class LowRankCodec final : public Codec {
 public:
  LowRankCodec(const CodecOptions& options, LowRankKind kind)
      : Codec(options),
        kind_(kind),
        rows_(rows_of(options.elements)),
        columns_(options.elements / rows_),
        matrix_(options.elements),
        p_(rows_ * rank()),
        q_(columns_ * rank()) {
    if (rows_ * columns_ != options.elements || rank() > rows_) {
      throw DeviceError("low-rank compressors are timed on powers of two elements; expected one");
    }
    matrix_.store(std::vector<float>(elements_, 0));
    q_.store(first_factor());
  }

  void encode(cudaStream_t stream) override {
    add<<<grid_blocks(elements_), block_threads, 0, stream>>>(gradient_.data(), matrix_.data(),
                                                              elements_);
    if (kind_ == LowRankKind::acp_sgd) {
      orthogonalise<<<1, block_threads, 0, stream>>>(q_.data(), columns_, options_.rank);
    }
    const int rows = static_cast<int>(rows_);
    const int columns = static_cast<int>(columns_);
    cublas_.multiply(stream, Cublas::Math::fp32, false, false, rows, options_.rank, columns,
                     matrix_.data(), q_.data(), p_.data());
    if (kind_ == LowRankKind::power_sgd) {
      orthogonalise<<<1, block_threads, 0, stream>>>(p_.data(), rows_, options_.rank);
      cublas_.multiply(stream, Cublas::Math::fp32, true, false, columns, options_.rank, rows,
                       matrix_.data(), p_.data(), q_.data());
    }
    check_launch("low rank");
  }
  void decode(cudaStream_t stream) override {
    cublas_.multiply(stream, Cublas::Math::fp32, false, true, static_cast<int>(rows_),
                     static_cast<int>(columns_), options_.rank, p_.data(), q_.data(),
                     restored_.data());
    subtract<<<grid_blocks(elements_), block_threads, 0, stream>>>(restored_.data(), matrix_.data(),
                                                                   elements_);
    check_launch("subtract");
  }
  std::string check() override {
    run_once();
    const reference::Matrix matrix{rows_, columns_, gradient_.fetch()};
    reference::Matrix q{columns_, rank(), first_factor()};
    if (kind_ == LowRankKind::acp_sgd) reference::orthogonalise(q);
    reference::Matrix p = reference::product(matrix, false, q);
    if (kind_ == LowRankKind::power_sgd) {
      reference::orthogonalise(p);
      q = reference::product(matrix, true, p);
    }
    // Sums of as many products as the matrix has rows, in fp32: their errors are of the sums' own
    // size times 2^-24 times a few, here held to 1e-3 of the largest factor.
    constexpr double tolerance = 1e-3;
    std::string wrong = compare("p", p_.fetch(), p.values, tolerance, tolerance * largest(p));
    if (wrong.empty()) {
      wrong = compare("q", q_.fetch(), q.values, tolerance, tolerance * largest(q));
    }
    if (!wrong.empty()) return wrong;
    const reference::Matrix expected = reference::outer_product(p, q);
    return compare("restored", restored_.fetch(), expected.values, tolerance,
                   tolerance * largest(expected));
  }

 private:
  [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(options_.rank); }
  [[nodiscard]] std::vector<float> first_factor() const {
    std::vector<float> values(columns_ * rank());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = uniform(static_cast<std::uint32_t>(i), factor_seed) - 0.5F;
    }
    return values;
  }
  static double largest(const reference::Matrix& matrix) {
    double largest = 0;
    for (const float value : matrix.values) {
      largest = std::fmax(largest, std::fabs(static_cast<double>(value)));
    }
    return largest;
  }

  LowRankKind kind_;
  std::size_t rows_;
  std::size_t columns_;
  DeviceArray<float> matrix_;  ///< gradient plus what was left
  DeviceArray<float> p_;
  DeviceArray<float> q_;
  Cublas cublas_;
};

}  // namespace

std::unique_ptr<Codec> make_low_rank_codec(const CodecOptions& options, LowRankKind kind) {
  return std::make_unique<LowRankCodec>(options, kind);
}

}  // namespace gradwire::calibration
