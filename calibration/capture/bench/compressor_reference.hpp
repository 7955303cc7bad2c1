#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What the compressors' kernels must compute, on the CPU and as plainly as it can be said: the
/// selftest holds the kernels to these, and the unit tests hold these to the papers.
namespace gradwire::calibration::reference {

/// To the nearest fp16 (ties to even; infinity beyond 65504) or bfloat16, and back.
[[nodiscard]] float through_half(float value);
[[nodiscard]] float through_bfloat16(float value);

/// 32 signs a word, the first in the lowest bit; 1 stands for >= 0. The last word is filled with 0.
[[nodiscard]] std::vector<std::uint32_t> pack_signs(std::span<const float> values);
/// +scale or -scale an element.
[[nodiscard]] std::vector<float> unpack_signs(std::span<const std::uint32_t> words,
                                              std::size_t elements, float scale);

enum class SignScale : std::uint8_t {
  mean_magnitude,    ///< EF-SignSGD (Karimireddy et al. 2019, algorithm 2): |c|_1 / n
  root_mean_square,  ///< 1-bit Adam in DeepSpeed (runtime/comm/nccl.py): |c|_2 / sqrt(n)
};

/// Signs of c = gradient + error, their scale, and the error that is left: c - scale * sign(c).
struct ScaledSigns {
  std::vector<std::uint32_t> words;
  float scale = 0;
  std::vector<float> error;
};
[[nodiscard]] ScaledSigns scaled_signs(std::span<const float> gradient,
                                       std::span<const float> error, SignScale kind);

/// QSGD (Alistarh et al. 2017, section 3.1): |x| / norm * levels, rounded up with the probability
/// of its fraction (uniform(i, seed) < fraction), with the sign of x. REQUIRES: levels <= 127.
struct Quantised {
  float norm = 0;  ///< |x|_2
  std::vector<std::int8_t> levels;
};
[[nodiscard]] Quantised quantise(std::span<const float> values, int levels, std::uint32_t seed);
/// The same with a norm from elsewhere.
[[nodiscard]] std::vector<std::int8_t> quantise_by(std::span<const float> values, float norm,
                                                   int levels, std::uint32_t seed);
[[nodiscard]] std::vector<float> restore(std::span<const std::int8_t> quantised, float norm,
                                         int levels);

/// The `kept`-th largest magnitude. REQUIRES: 1 <= kept <= values.
[[nodiscard]] float magnitude_threshold(std::span<const float> values, std::size_t kept);

/// Indexes as BytePS's randomk draws them: each by itself, so that one can come twice.
[[nodiscard]] std::vector<std::uint32_t> random_indexes(std::size_t elements, std::size_t kept,
                                                        std::uint32_t seed);

/// Deep Gradient Compression (Lin et al. 2018, algorithm 4): momentum correction
/// u = m u + g, v = v + u.
void correct_momentum(std::span<const float> gradient, float momentum, std::span<float> u,
                      std::span<float> v);
/// Every `stride`-th element, what DGC's threshold is taken from.
[[nodiscard]] std::vector<float> sample_of(std::span<const float> values, std::size_t stride);

/// A matrix by columns.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;
  [[nodiscard]] float at(std::size_t row, std::size_t column) const {
    return values[column * rows + row];
  }
};
/// left^T * right, or left * right; sums in double.
[[nodiscard]] Matrix product(const Matrix& left, bool transposed, const Matrix& right);
/// left * right^T.
[[nodiscard]] Matrix outer_product(const Matrix& left, const Matrix& right);
/// Gram-Schmidt column by column (PowerSGD, algorithm 1; epfml/powersgd divides by the norm
/// + 1e-8, as here).
void orthogonalise(Matrix& matrix);

}  // namespace gradwire::calibration::reference
