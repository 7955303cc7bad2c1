#include "sim/core/sample_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "sim/core/statistics.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

struct Samples {
  std::vector<double> values;
  std::vector<double> counts;
};

Samples of(const SamplePool& pool) {
  Samples samples;
  pool.copy_to(samples.values, samples.counts);
  return samples;
}

/// Iterations of some 100 ms, by the golden ratio's multiples: spread evenly over +-10 %.
std::vector<double> iterations(int count) {
  std::vector<double> values;
  double place = 0.5;
  for (int i = 0; i < count; ++i) {
    place += 0.6180339887498949;
    if (place >= 1) place -= 1;
    values.push_back(0.09 + 0.02 * place);
  }
  return values;
}

TEST_CASE("A pool that is not full keeps every sample as it came", "[core][statistics]") {
  SamplePool pool(4);
  pool.add(3, 1);
  pool.add(1, 7);
  pool.add(2, 1);
  pool.add(1, 2);
  CHECK(of(pool).values == std::vector<double>{3, 1, 2, 1});
  CHECK(of(pool).counts == std::vector<double>{1, 7, 1, 2});
}

TEST_CASE("A full pool merges the nearest, and loses no count", "[core][statistics]") {
  SamplePool pool(4);
  // 1 and its next neighbours; 2 and 3 are further away.
  for (const double value : {1 + 2e-16, 3.0, 2.0, 1.0, 1 + 4e-16}) pool.add(value, 2);
  const Samples kept = of(pool);
  CHECK(kept.values.size() <= 4);
  CHECK(std::accumulate(kept.counts.begin(), kept.counts.end(), 0.0) == 10);
  CHECK(kept.values.front() == Approx(1).epsilon(0.5));
}

TEST_CASE("Percentiles of a million samples are a merged pool's, within its width",
          "[core][statistics]") {
  const std::vector<double> all = iterations(1'000'000);
  constexpr std::size_t most = 1U << 14U;
  SamplePool pool(most);
  std::size_t kept_most = 0;
  for (const double value : all) {
    pool.add(value, 3);
    kept_most = std::max(kept_most, pool.size());
  }
  CHECK(kept_most == most);
  const Samples kept = of(pool);
  const PooledSamples merged(kept.values, kept.counts);
  const PooledSamples exact(all, std::vector<double>(all.size(), 3));
  CHECK(merged.size() == exact.size());
  // Half of the entries are taken at least: 2 / 9 of an octave's 2^k widths are 2^12 or more, so
  // that a width is below 2^-14 of the value.
  for (const double percent : {0., 5., 50., 75., 90., 95., 100.}) {
    CHECK(merged.percentile(percent) ==
          Approx(exact.percentile(percent)).epsilon(1.0 / (1U << 14U)));
  }
  // Means of what is merged: the mean stays.
  double sum = 0;
  for (std::size_t i = 0; i < kept.values.size(); ++i) sum += kept.values[i] * kept.counts[i];
  CHECK(sum / static_cast<double>(merged.size()) == Approx(mean(all)).epsilon(1e-12));
}

}  // namespace
}  // namespace gradwire
