#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "sim/core/random.hpp"
#include "sim/core/wide_vectors.hpp"

namespace gradwire {
namespace {

/// The whole number of 52 bits: as static_cast, for which few processors have vectors.
inline double to_double(std::uint64_t whole) {
  constexpr double unit_at_last = 0x1p52;  // its last bit counts 1
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(unit_at_last) | whole) - unit_at_last;
}

constexpr std::size_t at_once = 512;  // draws, so that they stay near the processor

}  // namespace

GRADWIRE_WIDE_VECTORS
void uniforms(std::span<const std::uint64_t> firsts, std::uint64_t last, std::span<double> draws) {
  assert(firsts.size() == draws.size());
  const std::uint64_t* const first = firsts.data();
  double* const draw = draws.data();
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    draw[i] = (to_double(absorb(first[i], last) >> 12U) + 0.5) * 0x1p-52;
  }
}

GRADWIRE_WIDE_VECTORS
void NormalTable::quantiles(std::span<const double> p, std::span<double> quantiles) const {
  assert(p.size() == quantiles.size());
  const double* const knots = knots_.data();
  for (std::size_t first = 0; first < p.size(); first += at_once) {
    const std::size_t count = std::min(at_once, p.size() - first);
    const double* const from = p.data() + first;
    // Arrays of this function's own: what is written there changes no knot.
    std::array<std::int32_t, at_once> part;
    std::array<double, at_once> found;
    alignas(std::uint64_t) std::array<std::uint8_t, at_once> outside{};
    for (std::size_t i = 0; i < count; ++i) {
      const double place = from[i] * parts;
      part[i] = static_cast<std::int32_t>(place);
      found[i] = place - static_cast<double>(part[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double below = knots[part[i]];
      const double above = knots[part[i] + 1];
      found[i] = below + found[i] * (above - below);
    }
    constexpr double tail = static_cast<double>(outermost) / parts;
    for (std::size_t i = 0; i < count; ++i) {
      outside[i] = from[i] < tail || from[i] >= 1 - tail ? 1 : 0;
    }
    // Few are: eight are looked at together.
    for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
      std::uint64_t any = 0;
      std::memcpy(&any, &outside[i], sizeof any);
      if (any == 0) continue;
      for (std::size_t k = i; k < std::min(count, i + sizeof any); ++k) {
        if (outside[k] != 0) found[k] = outer_quantile(from[k]);
      }
    }
    std::copy_n(found.data(), count, quantiles.data() + first);
  }
}

GRADWIRE_WIDE_VECTORS
void factors_of(std::span<const double> normals, double spread, double least,
                std::span<float> factors) {
  assert(normals.size() == factors.size());
  const double* const normal = normals.data();
  float* const factor = factors.data();
  for (std::size_t i = 0; i < normals.size(); ++i) {
    const double drawn = 1 + spread * normal[i];
    factor[i] = static_cast<float>(drawn < least ? least : drawn);
  }
}

}  // namespace gradwire
