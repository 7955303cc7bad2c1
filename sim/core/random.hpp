#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradwire {

/// The standard normal quantile: x with P(X <= x) = p, to about 1e-15 relative.
/// REQUIRES: 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);

/// The quantile between knots, for draws by the million: to 5e-5, and exactly in the outermost
/// parts, so that extremes are as far out as they are to be.
class NormalTable {
 public:
  NormalTable();

  /// Of each p. REQUIRES: 0 < p < 1; as many quantiles.
  void quantiles(std::span<const double> p, std::span<double> quantiles) const;

 private:
  static constexpr std::size_t parts = 4096;
  static constexpr std::size_t outermost = 32;  ///< at each end: 1.6 % of the draws
  /// Those are parted once more, so finely; of that, as many again are the outermost: 1 in 4096.
  static constexpr std::size_t finer = 64;

  /// REQUIRES: p is in the outermost parts.
  [[nodiscard]] double outer_quantile(double p) const;

  /// At multiples of 1 / parts; none at the first and the last, which is in no use.
  std::array<double, parts + 1> knots_{};
  /// At multiples of 1 / (parts * finer), from `outermost` on; one behind the last, for rounding.
  std::array<double, outermost * finer + 2> outer_knots_{};
};

/// The one table.
[[nodiscard]] const NormalTable& normal_table();

/// One round of SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators,
/// OOPSLA 2014; finaliser with Stafford's "Mix13" constants) that takes up a key. For a given key a
/// bijection of 64-bit words.
[[nodiscard]] constexpr std::uint64_t absorb(std::uint64_t state, std::uint64_t key) {
  std::uint64_t word = (state ^ key) + 0x9e37'79b9'7f4a'7c15U;
  word = (word ^ (word >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d0'49bb'1331'11ebU;
  return word ^ (word >> 31U);
}

/// The first keys of a draw: in a loop over the last one they are taken up once.
[[nodiscard]] constexpr std::uint64_t first_keys(std::uint64_t seed, std::uint64_t a,
                                                 std::uint64_t b) {
  return absorb(absorb(absorb(0, seed), a), b);
}

/// A uniform draw from (0, 1) that depends on its four keys only, on nothing drawn before it: the
/// draws of (seed, iteration, rank, layer) stay the same when other ranks or layers come and go.
[[nodiscard]] constexpr double uniform(std::uint64_t first, std::uint64_t last) {
  // The middle of one of 2^52 equal parts of (0, 1), exact in a double: never 0, never 1.
  constexpr double part = 0x1p-52;
  return (static_cast<double>(absorb(first, last) >> 12U) + 0.5) * part;
}
[[nodiscard]] constexpr double uniform(std::uint64_t seed, std::uint64_t a, std::uint64_t b,
                                       std::uint64_t c) {
  return uniform(first_keys(seed, a, b), c);
}

/// uniform(first, last) of each first key; as many draws.
void uniforms(std::span<const std::uint64_t> firsts, std::uint64_t last, std::span<double> draws);

/// 1 + spread * normal of each, and not less than `least`; as many factors.
void factors_of(std::span<const double> normals, double spread, double least,
                std::span<float> factors);

/// A standard normal draw, keyed like uniform(). Draws lie within +-8.3.
[[nodiscard]] inline double standard_normal(std::uint64_t seed, std::uint64_t a, std::uint64_t b,
                                            std::uint64_t c) {
  return normal_quantile(uniform(seed, a, b, c));
}

}  // namespace gradwire
