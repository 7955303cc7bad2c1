#include "calibration/capture/bench/dithering.hpp"

#include <cmath>
#include <vector>

#include "calibration/capture/bench/hash.hpp"
#include "strategies/compression/quantiser.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

Dithered coded(const std::vector<float>& values, int levels) {
  Dithered result;
  dither(values, levels, 1, result);
  return result;
}

/// QSGD (Alistarh et al. 2017, section 3.1): |x| / norm * levels, rounded up with the probability
/// of its fraction, with the sign of x; and back.
std::vector<float> quantised(const std::vector<float>& values, float norm, int levels) {
  std::vector<float> restored;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scaled = std::fabs(values[i]) / norm * static_cast<float>(levels);
    const float whole = std::floor(scaled);
    const bool up = uniform(static_cast<std::uint32_t>(i), 1) < scaled - whole;
    const float level = whole + (up ? 1.0F : 0.0F);
    restored.push_back(norm / static_cast<float>(levels) * (values[i] < 0 ? -level : level));
  }
  return restored;
}

}  // namespace

TEST_CASE("A level is sent as its distance, its sign and its size in Elias' delta code",
          "[capture][compressors]") {
  // One element holds the whole norm: its level is 4, delta 01100. Elias 1975: 1 is 1, 17 is
  // 001010001.
  const Dithered first = coded({3}, 4);
  CHECK(first.norm == 3.0F);
  REQUIRE(first.bits == 1 + 1 + 5);
  CHECK(first.words == std::vector<std::uint64_t>{0b1001100ULL << 57U});
  std::vector<float> values(20, 0.0F);
  values[16] = -3;
  const Dithered later = coded(values, 4);
  REQUIRE(later.bits == 9 + 1 + 5);
  CHECK(later.words == std::vector<std::uint64_t>{0b001010001101100ULL << 49U});
  CHECK(coded(std::vector<float>(5, 0.0F), 4).bits == 0);
}

TEST_CASE("What dithering sends comes back as QSGD's levels", "[capture][compressors]") {
  for (const int levels : {1, 4, 100}) {
    std::vector<float> values(50'000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = gradient_value(static_cast<std::uint32_t>(i), 1);
    }
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    std::vector<float> restored(values.size(), 7.0F);
    const Dithered sent = coded(values, levels);
    undither(sent, levels, restored);
    CHECK(sent.norm == static_cast<float>(std::sqrt(squares)));
    CHECK(restored == quantised(values, sent.norm, levels));
    // What the simulator counts is QSGD's bound on the expected length (theorem 3.2).
    const auto bound = static_cast<double>(elias_coded(50'000, levels).count());
    CHECK(static_cast<double>(sent.bits) / 8 < bound);
    CHECK(static_cast<double>(sent.bits) / 8 > 0.3 * bound);
  }
}

}  // namespace gradwire::calibration
