#include "sim/core/random.hpp"

#include <cassert>
#include <cmath>
#include <tuple>

namespace gradwire {
namespace {

/// The polynomial with these coefficients, the highest power's first.
template <std::size_t count>
double polynomial(const std::array<double, count>& coefficients, double x) {
  const auto add_all = [x](auto... coefficient) {  // no loop: the most of draws by the million
    double value = 0;
    ((value = value * x + coefficient), ...);
    return value;
  };
  return std::apply(add_all, coefficients);
}

/// A quotient of two polynomials.
struct Rational {
  std::array<double, 8> above;
  std::array<double, 8> below;

  [[nodiscard]] double of(double x) const { return polynomial(above, x) / polynomial(below, x); }
};

// Wichura, Algorithm AS 241: the percentage points of the normal distribution (Applied Statistics
// 37, 1988), PPND16.
constexpr Rational centre_rational{
    {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080},
    {5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
     5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1}};
constexpr Rational tail_rational{
    {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
     1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590,
     1.42343711074968357734},
    {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
     2.05319162663775882187, 1}};
constexpr Rational far_tail{
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
     2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
     5.46378491116411436990, 6.65790464350110377720},
    {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
     7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
     5.99832206555887937690e-1, 1}};

}  // namespace

double normal_quantile(double p) {
  assert(p > 0 && p < 1);
  const double from_middle = p - 0.5;
  if (std::abs(from_middle) <= 0.425) {
    return from_middle * centre_rational.of(0.180625 - from_middle * from_middle);
  }
  const double root = std::sqrt(-std::log(from_middle < 0 ? p : 1 - p));
  const double distance = root <= 5 ? tail_rational.of(root - 1.6) : far_tail.of(root - 5);
  return std::copysign(distance, from_middle);
}

NormalTable::NormalTable() {
  for (std::size_t i = 1; i < parts; ++i) {
    knots_[i] = normal_quantile(static_cast<double>(i) / static_cast<double>(parts));
  }
  for (std::size_t i = outermost; i < outer_knots_.size(); ++i) {
    outer_knots_[i] = normal_quantile(static_cast<double>(i) / static_cast<double>(parts * finer));
  }
}

double NormalTable::outer_quantile(double p) const {
  const bool upper = p > 0.5;
  const double place = (upper ? 1 - p : p) * static_cast<double>(parts * finer);
  const auto part = static_cast<std::size_t>(place);
  if (part < outermost) return normal_quantile(p);
  const double below = outer_knots_[part];
  const double lower =
      below + (place - static_cast<double>(part)) * (outer_knots_[part + 1] - below);
  return upper ? -lower : lower;
}

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

}  // namespace gradwire
