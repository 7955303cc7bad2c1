#include "sim/core/statistics.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

double unweighted(const std::vector<double>& values, double percent) {
  return percentile(values, std::vector<double>(values.size(), 1), percent);
}

TEST_CASE("Percentiles are those of numpy.percentile, linear", "[core][statistics]") {
  // place = (n - 1) p / 100; value = a + (b - a) x fraction. n = 4: p25 at 0.75, p90 at 2.7.
  const std::vector<double> values = {4, 1, 10, 2};
  CHECK(unweighted(values, 0) == 1);
  CHECK(unweighted(values, 25) == Approx(1 + 0.75 * 1));
  CHECK(unweighted(values, 50) == 3);
  CHECK(unweighted(values, 90) == Approx(4 + 0.7 * 6));
  CHECK(unweighted(values, 100) == 10);
  CHECK(unweighted({7}, 75) == 7);
}

TEST_CASE("A percentile takes the last bit from the nearer end, as numpy does",
          "[core][statistics]") {
  // n = 2, p75: b - (b - a) (1 - 0.75) = 0.3 - 0.2 x 0.25 in doubles. From the far end it would be
  // 0.1 + 0.2 x 0.75, one unit in the last place away.
  const double a = 0.1;
  const double b = 0.3;
  CHECK(unweighted({a, b}, 75) == b - (b - a) * 0.25);
}

TEST_CASE("A weight counts a value as often as it says", "[core][statistics]") {
  const std::vector<double> values = {3, 1, 2};
  const std::vector<double> weights = {2, 5, 3};
  const std::vector<double> spelled_out = {1, 1, 1, 1, 1, 2, 2, 2, 3, 3};
  CHECK(PooledSamples(values, weights).size() == 10);
  for (const double p : {0.0, 10.0, 44.0, 45.0, 50.0, 75.0, 80.0, 95.0, 100.0}) {
    CHECK(percentile(values, weights, p) == unweighted(spelled_out, p));
  }
}

TEST_CASE("Mean, median and standard deviation of a sample", "[core][statistics]") {
  // mean 5; squares 9 1 1 1 0 0 4 16 = 32; 32 / 7.
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(values) == 5);
  CHECK(median(values) == 4.5);
  CHECK(stdev(values) == Approx(std::sqrt(32.0 / 7)));
  CHECK(stdev(std::vector<double>{3}) == 0);
}

}  // namespace
}  // namespace gradwire
