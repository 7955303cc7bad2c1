#include "sim/core/random.hpp"

#include <array>
#include <cassert>
#include <cmath>

namespace gradwire {
namespace {

/// Numerator and denominator of a rational approximation, constant term first.
struct Rational {
  std::array<double, 8> numerator;
  std::array<double, 8> denominator;
};

double horner(const std::array<double, 8>& c, double x) {
  return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x +
         c[0];
}

double evaluate(const Rational& f, double x) {
  return horner(f.numerator, x) / horner(f.denominator, x);
}

// The coefficients of PPND16: |p - 1/2| <= 0.425, then the tails by r = sqrt(-log(tail)).
constexpr Rational centre = {
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3},
    {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3}};
constexpr Rational near_tail = {  // r <= 5
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};
constexpr Rational far_tail = {  // r > 5
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};
constexpr double centre_half_width = 0.425;
constexpr double tail_split = 5.0;

}  // namespace

double normal_quantile(double p) {
  assert(p > 0 && p < 1);
  const double q = p - 0.5;
  if (std::abs(q) <= centre_half_width) {
    return q * evaluate(centre, centre_half_width * centre_half_width - q * q);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double x =
      r <= tail_split ? evaluate(near_tail, r - 1.6) : evaluate(far_tail, r - tail_split);
  return std::copysign(x, q);
}

NormalTable::NormalTable() {
  for (std::size_t i = 1; i < parts; ++i) {
    knots_[i] = normal_quantile(static_cast<double>(i) / static_cast<double>(parts));
  }
}

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

}  // namespace gradwire
