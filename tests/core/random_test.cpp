#include "sim/core/random.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "sim/core/statistics.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

TEST_CASE("The normal quantile inverts the normal distribution", "[core][random]") {
  // Published values: p = 0.975 -> 1.959963984540054, p = 0.9 -> 1.2815515655446004.
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-14));
  CHECK(normal_quantile(0.9) == Approx(1.2815515655446004).epsilon(1e-14));
  // Centre, both tails and both joints: CDF(quantile(p)) = p. The error of erfc near its small end
  // grows with x^2, hence 1e-12.
  for (const double p :
       {1e-300, 1e-16, 1e-11, 1.3e-11, 1e-5, 0.01, 0.0749, 0.0751, 0.3, 0.7, 0.93}) {
    CHECK(normal_cdf(normal_quantile(p)) == Approx(p).epsilon(1e-12).margin(0));
  }
  CHECK(normal_quantile(0.25) == -normal_quantile(0.75));
}

TEST_CASE("The normal quantile is Boost's", "[core][random]") {
  const boost::math::normal_distribution<> normal;
  // Evenly, and towards either end; the upper one is as near to 1 as a double is.
  for (int i = 1; i < 4000; ++i) {
    for (const double p : {i / 4000.0, std::pow(10.0, -i / 13.0), 1 - std::pow(2.0, -i / 77.0)}) {
      if (p == 0.5) continue;
      CHECK(normal_quantile(p) ==
            Approx(boost::math::quantile(normal, p)).epsilon(3e-15).margin(0));
    }
  }
}

TEST_CASE("Factors are 1 and a multiple of the draw, and have a floor", "[core][random]") {
  const std::vector<double> normals = {0, 1, -2, 3, -4.5, -3, 0.25, 2, -1};  // no whole vectors
  std::vector<float> factors(normals.size());
  factors_of(normals, 0.25, 0.2, factors);
  for (std::size_t i = 0; i < normals.size(); ++i) {
    CHECK(factors[i] == static_cast<float>(std::max(0.2, 1 + 0.25 * normals[i])));
  }
}

TEST_CASE("The table of quantiles is near the quantile, and is it in the tails", "[core][random]") {
  // The error of a line between knots h apart: h^2 / 8 times the second derivative, which is
  // x / density(x)^2: at p = 32 / 4096 2.42 / 0.0215^2; where the knots are 64 times as many, at
  // p = 32 / 262144 3.67 / 0.00047^2, which is 3e-5.
  constexpr int steps = 100'000;
  const double share = GENERATE(1.0, 1.0 / 128);  // of the draws; and of those in the lower tail
  std::vector<double> p;
  for (int i = 0; i < steps; ++i) p.push_back(share * (i + 0.5) / steps);
  std::vector<double> quantiles(p.size());
  normal_table().quantiles(p, quantiles);
  double worst = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    worst = std::max(worst, std::abs(quantiles[i] - normal_quantile(p[i])));
  }
  CHECK(worst < 5e-5);
  CHECK(worst > 1e-6);
  const std::vector<double> tails = {1e-16, 1e-5, 1e-4, 1 - 1e-4, 1 - 1e-9};
  quantiles.resize(tails.size());
  normal_table().quantiles(tails, quantiles);
  for (std::size_t i = 0; i < tails.size(); ++i) CHECK(quantiles[i] == normal_quantile(tails[i]));
  const std::vector<double> ends = {1.0 / 128, 1 - 1.0 / 128, 0.007, 1 - 0.007};
  quantiles.resize(ends.size());
  normal_table().quantiles(ends, quantiles);
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    CHECK(quantiles[i] == Approx(normal_quantile(ends[i])).margin(5e-5));
    CHECK(quantiles[i] == Approx(-quantiles[i + 1]).margin(1e-13));  // 1 - 0.007 is rounded
  }
}

TEST_CASE("Many uniform draws at once are each one's", "[core][random]") {
  std::vector<std::uint64_t> firsts(1003);  // no whole number of vectors
  for (std::size_t i = 0; i < firsts.size(); ++i) firsts[i] = first_keys(1, 2, i);
  std::vector<double> draws(firsts.size());
  uniforms(firsts, 7, draws);
  for (std::size_t i = 0; i < firsts.size(); ++i) CHECK(draws[i] == uniform(1, 2, i, 7));
}

TEST_CASE("A draw depends on its keys only", "[core][random]") {
  const double draw = standard_normal(1, 2, 3, 4);
  CHECK(standard_normal(1, 2, 3, 4) == draw);
  CHECK(standard_normal(2, 2, 3, 4) != draw);
  CHECK(standard_normal(1, 3, 3, 4) != draw);
  CHECK(standard_normal(1, 2, 4, 4) != draw);
  CHECK(standard_normal(1, 2, 3, 5) != draw);
  // Keys in another order are other keys.
  CHECK(standard_normal(1, 2, 4, 3) != draw);
  CHECK(standard_normal(2, 1, 3, 4) != draw);
}

/// What `draw(i)` gives for i = 0..999 999.
template <class Draw>
std::vector<double> million(Draw draw) {
  std::vector<double> draws(1'000'000);
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = draw(i);
  return draws;
}

/// Mean product of draws `stride` apart.
double correlation(const std::vector<double>& draws, std::size_t stride) {
  const auto from = draws.begin() + static_cast<std::ptrdiff_t>(stride);
  return std::inner_product(from, draws.end(), draws.begin(), 0.0) /
         static_cast<double>(draws.size() - stride);
}

/// Greatest distance between the draws' distribution and the normal one.
double kolmogorov_distance(std::vector<double> draws) {
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  double distance = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double p = normal_cdf(draws[i]);
    const auto below = static_cast<double>(i);
    distance = std::max({distance, p - below / n, (below + 1) / n - p});
  }
  return distance;
}

TEST_CASE("Draws over any key follow the standard normal distribution", "[core][random]") {
  const std::size_t axis = GENERATE(0U, 1U, 2U, 3U);
  const auto draws = million([&](std::uint64_t i) {
    std::array<std::uint64_t, 4> keys = {1, 1, 1, 1};
    keys[axis] = i;
    return standard_normal(keys[0], keys[1], keys[2], keys[3]);
  });
  // Five standard errors: of the mean 1/sqrt(n), of the deviation 1/sqrt(2n), of the product of
  // neighbours 1/sqrt(n).
  const double root = std::sqrt(static_cast<double>(draws.size()));
  CHECK(std::abs(mean(draws)) < 5 / root);
  CHECK(std::abs(stdev(draws) - 1) < 5 / (root * std::numbers::sqrt2));
  CHECK(std::abs(correlation(draws, 1)) < 5 / root);
  // Kolmogorov-Smirnov: sqrt(n) D < 1.95 with probability 0.999.
  CHECK(root * kolmogorov_distance(draws) < 1.95);
}

TEST_CASE("Draws of neighbouring ranks and layers are uncorrelated", "[core][random]") {
  // A grid of 1000 ranks x 1000 layers; the mean product of neighbours is 0 +- 1/sqrt(n).
  const auto draws =
      million([](std::uint64_t i) { return standard_normal(7, 1, i / 1000, i % 1000); });
  for (const std::size_t stride : {999U, 1000U, 1001U}) {
    CHECK(std::abs(correlation(draws, stride)) < 5e-3);
  }
}

}  // namespace
}  // namespace gradwire
