#include "calibration/capture/bench/compressor_reference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "calibration/capture/bench/hash.hpp"

namespace gradwire::calibration::reference {
namespace {

constexpr std::size_t bits_a_word = 32;
constexpr double norm_epsilon = 1e-8;

/// To a multiple of `step`, ties to the even one.
float to_multiple(float value, double step) {
  return static_cast<float>(std::nearbyint(value / step) * step);
}

/// The distance between neighbours at `value` in a binary format.
double spacing(float value, int mantissa_bits, int exponent_min) {
  const int exponent = value == 0 ? exponent_min : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, exponent_min) - mantissa_bits);
}

}  // namespace

float through_half(float value) {
  constexpr float largest = 65504;
  if (!std::isfinite(value)) return value;
  const float rounded = to_multiple(value, spacing(value, 10, -14));
  if (std::fabs(rounded) <= largest) return rounded;
  return std::copysign(std::numeric_limits<float>::infinity(), value);
}

float through_bfloat16(float value) {
  if (!std::isfinite(value)) return value;
  return to_multiple(value, spacing(value, 7, -126));
}

std::vector<std::uint32_t> pack_signs(std::span<const float> values) {
  std::vector<std::uint32_t> words((values.size() + bits_a_word - 1) / bits_a_word, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0) words[i / bits_a_word] |= 1U << (i % bits_a_word);
  }
  return words;
}

std::vector<float> unpack_signs(std::span<const std::uint32_t> words, std::size_t elements,
                                float scale) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const bool positive = (words[i / bits_a_word] >> (i % bits_a_word) & 1U) != 0;
    values[i] = positive ? scale : -scale;
  }
  return values;
}

ScaledSigns scaled_signs(std::span<const float> gradient, std::span<const float> error,
                         SignScale kind) {
  ScaledSigns result;
  result.error.resize(gradient.size());
  double magnitudes = 0;
  double squares = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    result.error[i] = gradient[i] + error[i];
    magnitudes += std::fabs(result.error[i]);
    squares += static_cast<double>(result.error[i]) * result.error[i];
  }
  const auto count = static_cast<double>(gradient.size());
  result.scale = static_cast<float>(kind == SignScale::mean_magnitude ? magnitudes / count
                                                                      : std::sqrt(squares / count));
  result.words = pack_signs(result.error);
  for (float& left : result.error) left -= left >= 0 ? result.scale : -result.scale;
  return result;
}

Quantised quantise(std::span<const float> values, int levels, std::uint32_t seed) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  Quantised result;
  result.norm = static_cast<float>(std::sqrt(squares));
  result.levels = quantise_by(values, result.norm, levels, seed);
  return result;
}

std::vector<std::int8_t> quantise_by(std::span<const float> values, float norm, int levels,
                                     std::uint32_t seed) {
  std::vector<std::int8_t> quantised(values.size(), 0);
  if (!(norm > 0)) return quantised;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scaled = std::fabs(values[i]) / norm * static_cast<float>(levels);
    const float whole = std::floor(scaled);
    const bool up = uniform(static_cast<std::uint32_t>(i), seed) < scaled - whole;
    const int level = static_cast<int>(whole) + (up ? 1 : 0);
    quantised[i] = static_cast<std::int8_t>(values[i] < 0 ? -level : level);
  }
  return quantised;
}

std::vector<float> restore(std::span<const std::int8_t> quantised, float norm, int levels) {
  std::vector<float> values(quantised.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = norm / static_cast<float>(levels) * static_cast<float>(quantised[i]);
  }
  return values;
}

float magnitude_threshold(std::span<const float> values, std::size_t kept) {
  std::vector<float> magnitudes(values.size());
  std::transform(values.begin(), values.end(), magnitudes.begin(),
                 [](float value) { return std::fabs(value); });
  const auto nth = magnitudes.begin() + static_cast<std::ptrdiff_t>(kept - 1);
  std::nth_element(magnitudes.begin(), nth, magnitudes.end(), std::greater<>());
  return *nth;
}

std::vector<std::uint32_t> random_indexes(std::size_t elements, std::size_t kept,
                                          std::uint32_t seed) {
  std::vector<std::uint32_t> indexes(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    indexes[i] = mixed(static_cast<std::uint32_t>(i) * 0x9e3779b9U + mixed(seed)) %
                 static_cast<std::uint32_t>(elements);
  }
  return indexes;
}

void correct_momentum(std::span<const float> gradient, float momentum, std::span<float> u,
                      std::span<float> v) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    u[i] = momentum * u[i] + gradient[i];
    v[i] += u[i];
  }
}

std::vector<float> sample_of(std::span<const float> values, std::size_t stride) {
  std::vector<float> sample;
  for (std::size_t i = 0; i < values.size(); i += stride) sample.push_back(values[i]);
  return sample;
}

Matrix product(const Matrix& left, bool transposed, const Matrix& right) {
  Matrix result{transposed ? left.columns : left.rows, right.columns, {}};
  result.values.reserve(result.rows * result.columns);
  for (std::size_t column = 0; column < result.columns; ++column) {
    for (std::size_t row = 0; row < result.rows; ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < right.rows; ++k) {
        const float factor = transposed ? left.at(k, row) : left.at(row, k);
        sum += static_cast<double>(factor) * right.at(k, column);
      }
      result.values.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

Matrix outer_product(const Matrix& left, const Matrix& right) {
  Matrix turned{right.columns, right.rows, {}};
  turned.values.reserve(right.values.size());
  for (std::size_t row = 0; row < right.rows; ++row) {
    for (std::size_t column = 0; column < right.columns; ++column) {
      turned.values.push_back(right.at(row, column));
    }
  }
  return product(left, false, turned);
}

void orthogonalise(Matrix& matrix) {
  const std::size_t rows = matrix.rows;
  const auto dot = [&](std::size_t first, std::size_t second) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      sum += static_cast<double>(matrix.at(row, first)) * matrix.at(row, second);
    }
    return sum;
  };
  for (std::size_t column = 0; column < matrix.columns; ++column) {
    const double norm = std::sqrt(dot(column, column)) + norm_epsilon;
    for (std::size_t row = 0; row < rows; ++row) {
      float& value = matrix.values[column * rows + row];
      value = static_cast<float>(value / norm);
    }
    for (std::size_t later = column + 1; later < matrix.columns; ++later) {
      const double shared = dot(column, later);
      for (std::size_t row = 0; row < rows; ++row) {
        float& value = matrix.values[later * rows + row];
        value = static_cast<float>(value - shared * matrix.at(row, column));
      }
    }
  }
}

}  // namespace gradwire::calibration::reference
