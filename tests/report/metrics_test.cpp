#include "sim/report/metrics.hpp"

#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

TEST_CASE("Percentiles interpolate linearly between ranks (n-1)p/100, as numpy does", "[report]") {
  const std::vector<double> values = {0.4, 0.1, 0.2};
  const std::vector<double> ones = {1, 1, 1};
  const PooledSamples pooled(values, ones);
  CHECK(pooled.percentile(0) == 0.1);
  CHECK(pooled.percentile(50) == 0.2);
  // rank 1.5: half way from 0.2 to 0.4; rank 1.9: nine tenths of it
  CHECK(pooled.percentile(75) == Approx(0.3).epsilon(1e-15));
  CHECK(pooled.percentile(95) == Approx(0.38).epsilon(1e-15));
  CHECK(pooled.percentile(100) == 0.4);
}

TEST_CASE("A count stands for as many equal samples", "[report]") {
  const std::vector<double> expanded = {0.1, 0.1, 0.1, 0.3, 0.3, 0.2};
  const std::vector<double> ones(6, 1.0);
  const std::vector<double> values = {0.3, 0.1, 0.2};
  const std::vector<double> counts = {2, 3, 1};
  const PooledSamples one_by_one(expanded, ones);
  const PooledSamples counted(values, counts);
  CHECK(counted.size() == 6);
  for (const double percent : {0, 25, 50, 60, 75, 90, 95, 100}) {
    CHECK(counted.percentile(percent) == one_by_one.percentile(percent));
  }
}

TEST_CASE("Accumulated micro-batches count as samples of the iteration", "[report]") {
  Point point = make_point("", 4, {{0.1, 4}});
  point.result.micro_batches = 3;
  const Metrics m = metrics_of(point.result);
  // 4 ranks x 32 x 3 in 0.1 s
  CHECK(m.global_batch == 384);
  CHECK(m.throughput == Approx(3840));
  CHECK(m.throughput_per_gpu == Approx(960));
}

TEST_CASE("Samples of a large batch and many micro-batches are counted beyond 32 bits",
          "[report]") {
  Point point = make_point("", 4, {{0.1, 4}});
  point.result.batch_per_gpu = 1'000'000;
  point.result.micro_batches = 2148;
  point.result.single_gpu_iteration_s = 0.1;
  const Metrics m = metrics_of(point.result);
  // 2.148e9 samples a rank, alone and among four, in 0.1 s
  CHECK(m.single_gpu_throughput == Approx(2.148e10));
  CHECK(m.scaling_efficiency == Approx(1));
}

}  // namespace
}  // namespace gradwire
