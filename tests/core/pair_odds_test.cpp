#include "sim/core/pair_odds.hpp"

#include <cmath>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("Which of two is faster is open at equal times, and the odds of both are one",
          "[core][odds]") {
  CHECK(odds_of_faster(1) == 0.5);
  for (const double ratio : {1.001, 1.1, 1.5, 10.0, 1e6}) {
    CHECK(odds_of_faster(ratio) + odds_of_faster(1 / ratio) == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("The further apart two are, the surer the faster one is", "[core][odds]") {
  double last = 0;
  for (const double ratio : {0.1, 0.5, 0.9, 1.0, 1.01, 1.1, 1.2, 2.0, 10.0}) {
    CHECK(odds_of_faster(ratio) > last);
    last = odds_of_faster(ratio);
  }
}

TEST_CASE("The odds are Student's t with two degrees of freedom", "[core][odds]") {
  // x = 1: (1 + 1 / sqrt(3)) / 2 = 0.788675, where ln(ratio)^2 = 0.06^2 / (1 - 0.32^2) =
  // 0.0633299^2.
  CHECK(odds_of_faster(std::exp(0.0633299)) == Approx(0.788675).epsilon(1e-5));
  // Without bounds x = 1 / 0.32 = 3.125: (1 + 3.125 / sqrt(11.765625)) / 2 = 0.955528.
  CHECK(odds_of_faster(1e300) == Approx(0.955528).epsilon(1e-5));
  CHECK(odds_of_faster(std::exp(1.0), {.alone = 1, .of_difference = 0}) ==
        Approx(0.788675).epsilon(1e-5));
}

TEST_CASE("One beats another from 1.15 times as fast on", "[core][odds]") {
  // 90 %: x / sqrt(2 + x^2) = 0.8, x^2 = 32 / 9; ln(ratio)^2 = 0.06^2 / (9 / 32 - 0.32^2),
  // 0.14188^2.
  const double ratio = std::exp(0.14188);
  CHECK(ratio == Approx(1.1524).epsilon(1e-4));
  CHECK(odds_of_faster(ratio - 1e-3) < significant_odds);
  CHECK(odds_of_faster(ratio + 1e-3) > significant_odds);
}

}  // namespace
}  // namespace gradwire
