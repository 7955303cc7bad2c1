#include "calibration/capture/bench/compressor_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "calibration/capture/bench/hash.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration::reference {
namespace {

std::vector<float> gradient(std::size_t elements) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = gradient_value(static_cast<std::uint32_t>(i), 1);
  }
  return values;
}

}  // namespace

TEST_CASE("Casts round to the nearest fp16 and bfloat16, ties to even", "[capture][compressors]") {
  // fp16 has 10 bits of mantissa: beside 1 the step is 2^-10; 1 + 2^-11 is a tie, 1 + 3*2^-11 too.
  CHECK(through_half(1.0F + 0x1p-11F) == 1.0F);
  CHECK(through_half(1.0F + 0x3p-11F) == 1.0F + 0x1p-9F);
  CHECK(through_half(-0.333F) == Approx(-0.333).epsilon(0x1p-11));
  CHECK(through_half(65504.0F) == 65504.0F);
  CHECK(through_half(65520.0F) == std::numeric_limits<float>::infinity());
  CHECK(through_half(0x1p-24F) == 0x1p-24F);  // the smallest one
  CHECK(through_half(0x1p-26F) == 0.0F);
  // bfloat16 has 7 bits.
  CHECK(through_bfloat16(1.0F + 0x1p-8F) == 1.0F);
  CHECK(through_bfloat16(1.0F + 0x3p-8F) == 1.0F + 0x1p-6F);
  CHECK(through_bfloat16(1e30F) == Approx(1e30).epsilon(0x1p-8));
}

TEST_CASE("Signs are packed 32 a word, zero counting as positive", "[capture][compressors]") {
  std::vector<float> values(35, -1.0F);
  values[0] = 0;
  values[31] = 2;
  values[33] = 3;
  const auto words = pack_signs(values);
  REQUIRE(words == std::vector<std::uint32_t>{0x80000001U, 0x2U});
  const auto back = unpack_signs(words, values.size(), 0.5F);
  CHECK(back[0] == 0.5F);
  CHECK(back[1] == -0.5F);
  CHECK(back[33] == 0.5F);
  CHECK(back[34] == -0.5F);
}

TEST_CASE("Scaled signs and the error that is left add up to what was to be sent",
          "[capture][compressors]") {
  const std::vector<float> values = {3, -1, 0, -4};
  const std::vector<float> before = {1, 0, 0, 0};
  // c = (4, -1, 0, -4): mean magnitude 9/4, root mean square sqrt(33/4).
  const ScaledSigns mean = scaled_signs(values, before, SignScale::mean_magnitude);
  CHECK(mean.scale == Approx(2.25));
  const ScaledSigns root = scaled_signs(values, before, SignScale::root_mean_square);
  CHECK(root.scale == Approx(std::sqrt(33.0 / 4)));
  const auto sent = unpack_signs(mean.words, 4, mean.scale);
  for (std::size_t i = 0; i < 4; ++i) CHECK(sent[i] + mean.error[i] == values[i] + before[i]);
}

TEST_CASE("QSGD rounds without bias, to neighbouring levels", "[capture][compressors]") {
  const std::vector<float> values = gradient(1 << 16);
  constexpr int levels = 64;
  const Quantised quantised = quantise(values, levels, 3);
  const auto back = restore(quantised.levels, quantised.norm, levels);
  const double step = static_cast<double>(quantised.norm) / levels;
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(std::fabs(back[i] - values[i]) <= step * (1 + 1e-5));
    error += back[i] - values[i];
  }
  // Each rounding is off by at most `step`; the sum of n unbiased ones by a few sqrt(n) steps.
  CHECK(std::fabs(error) < 5 * step * std::sqrt(static_cast<double>(values.size())));
  CHECK(quantise(std::vector<float>(3, 0), levels, 3).levels == std::vector<std::int8_t>(3, 0));
}

TEST_CASE("The threshold is the k-th largest magnitude", "[capture][compressors]") {
  const std::vector<float> values = {1, -5, 3, -3, 0};
  CHECK(magnitude_threshold(values, 1) == 5);
  CHECK(magnitude_threshold(values, 2) == 3);
  CHECK(magnitude_threshold(values, 3) == 3);
  CHECK(magnitude_threshold(values, 5) == 0);
}

TEST_CASE("Random indexes are spread over all elements", "[capture][compressors]") {
  // 64 bins of 1024 draws each expected: a bin's standard deviation is 32.
  std::vector<int> bins(64, 0);
  for (const std::uint32_t index : random_indexes(64'000, 65'536, 1)) {
    REQUIRE(index < 64'000);
    ++bins[index / 1000];
  }
  CHECK(*std::ranges::min_element(bins) > 1024 - 5 * 32);
  CHECK(*std::ranges::max_element(bins) < 1024 + 5 * 32);
}

TEST_CASE("DGC's velocity adds up corrected momenta", "[capture][compressors]") {
  // Two steps of gradient 1 with m = 0.5: u = 1, then 1.5; v = 1, then 2.5.
  std::vector<float> u(2, 0);
  std::vector<float> v(2, 0);
  const std::vector<float> ones(2, 1);
  correct_momentum(ones, 0.5F, u, v);
  correct_momentum(ones, 0.5F, u, v);
  CHECK(u[1] == 1.5F);
  CHECK(v[1] == 2.5F);
  CHECK(sample_of(gradient(1001), 100).size() == 11);
}

TEST_CASE("Gram-Schmidt makes columns orthonormal; a product of factors has their rank",
          "[capture][compressors]") {
  Matrix matrix{64, 4, gradient(256)};
  orthogonalise(matrix);
  const Matrix squares = product(matrix, true, matrix);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      CHECK(squares.at(row, column) == Approx(row == column ? 1.0 : 0.0).margin(1e-3));
    }
  }
  // One step of PowerSGD restores a matrix of rank 1 exactly, whatever the first factor.
  const Matrix left{8, 1, gradient(8)};
  const Matrix right{5, 1, {1, -2, 3, -4, 5}};
  const Matrix whole = outer_product(left, right);
  Matrix p = product(whole, false, Matrix{5, 1, {1, 1, 1, 1, 1}});
  orthogonalise(p);
  const Matrix back = outer_product(p, product(whole, true, p));
  for (std::size_t i = 0; i < whole.values.size(); ++i) {
    CHECK(back.values[i] == Approx(whole.values[i]).epsilon(1e-3));
  }
}

TEST_CASE("A made-up gradient has mean 0 and the standard deviation that it states",
          "[capture][compressors]") {
  // Four uniform draws: variance 4/12, so 0.577e-3 after scaling.
  const std::vector<float> values = gradient(100'000);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1e5;
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  CHECK(std::fabs(mean) < 1e-5);
  CHECK(std::sqrt(squares / 1e5) == Approx(1e-3 * std::sqrt(4.0 / 12)).epsilon(0.01));
}

}  // namespace gradwire::calibration::reference
