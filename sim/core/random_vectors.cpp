#include <bit>
#include <cassert>

#include "sim/core/random.hpp"
#include "sim/core/wide_vectors.hpp"

namespace gradwire {
namespace {

/// The whole number of 52 bits: as static_cast, for which few processors have vectors.
inline double to_double(std::uint64_t whole) {
  constexpr double unit_at_last = 0x1p52;  // its last bit counts 1
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(unit_at_last) | whole) - unit_at_last;
}

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
  const double* const from = p.data();
  double* const to = quantiles.data();
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double place = from[i] * parts;
    const auto part = static_cast<std::int32_t>(place);
    const double below = knots_[static_cast<std::size_t>(part)];
    const double above = knots_[static_cast<std::size_t>(part) + 1];
    to[i] = below + (place - static_cast<double>(part)) * (above - below);
  }
  constexpr double tail = static_cast<double>(outermost) / parts;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (from[i] < tail || from[i] >= 1 - tail) to[i] = normal_quantile(from[i]);
  }
}

}  // namespace gradwire
