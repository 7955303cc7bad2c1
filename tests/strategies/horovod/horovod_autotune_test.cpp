#include "strategies/horovod/horovod_autotune.hpp"

#include <cmath>
#include <vector>

#include "strategies/horovod/gaussian_process.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

double mebibytes(const HorovodOptions& options) {
  return static_cast<double>(options.fusion_threshold.count()) / (1024 * 1024);
}
double milliseconds(const HorovodOptions& options) {
  return options.cycle_time.count() * 1e3;
}

/// Best at 40 MiB and 20 ms, 100 there.
double hill(const HorovodOptions& options) {
  const double x = (mebibytes(options) - 40) / 30;
  const double y = (milliseconds(options) - 20) / 30;
  return 100 * std::exp(-(x * x + y * y));
}

}  // namespace

TEST_CASE("a Gaussian process goes through its points, and is unsure far from them",
          "[horovod][autotune]") {
  const std::vector<GaussianProcess::Point> points = {{0, 0}, {10, 0}, {0, 10}};
  const std::vector<double> values = {50, 80, 20};
  const GaussianProcess process(points, values, 0.1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(process.at(points[i]).mean == Approx(values[i]).margin(0.5));
    CHECK(process.at(points[i]).deviation < 0.2);
  }
  const auto far = process.at({1000, 1000});
  CHECK(far.mean == Approx(0).margin(1e-6));
  CHECK(far.deviation > 10);
  // Nothing is to be gained where the value is known and below the best.
  CHECK(process.expected_improvement({0, 10}) < 1e-6);
  CHECK(process.expected_improvement({12, 0}) > process.expected_improvement({0, 10}));
}

TEST_CASE("autotune tries Horovod's four points first, once without and once with the cache",
          "[horovod][autotune]") {
  std::vector<HorovodOptions> tried;
  const auto tuned = autotune({}, {.on = true}, [&](const HorovodOptions& options) {
    tried.push_back(options);
    return hill(options);
  });
  REQUIRE(tried.size() == 42);  // 20 + 1 each
  CHECK(tuned.samples == 42);
  const std::vector<std::pair<double, double>> points = {{4, 5}, {32, 50}, {16, 25}, {8, 10}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(mebibytes(tried[i]) == Approx(points[i].first));
    CHECK(milliseconds(tried[i]) == Approx(points[i].second));
    CHECK(tried[i].cache_capacity == 0);
    CHECK(tried[21 + i].cache_capacity == 1024);
  }
  // It finds the top: the four points have 18, 34, 51 and 29 of 100.
  CHECK(tuned.score > 95);
  CHECK(tuned.options.cache_capacity == 0);  // of equal scores the first
}

TEST_CASE("autotune leaves alone what was set", "[horovod][autotune]") {
  HorovodOptions options;
  options.cycle_time = Seconds{3e-3};
  const auto tuned = autotune(options, {.on = true, .cycle_time_fixed = true, .cache_fixed = true},
                              [](const HorovodOptions& tried) {
                                CHECK(milliseconds(tried) == Approx(3));
                                CHECK(tried.cache_capacity == 1024);
                                return hill(tried);
                              });
  CHECK(tuned.samples == 21);
  CHECK(mebibytes(tuned.options) == Approx(40).margin(4));
}
