#include "sim/core/recording.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("Percentiles are samples, by nearest rank", "[core][recording]") {
  // 1 .. 200 s, out of order: the p-th percentile is the sample ceil(p n).
  std::vector<Seconds> samples;
  for (int i = 200; i >= 1; --i) samples.emplace_back(i);
  const Percentiles of = percentiles_of(samples);
  CHECK(of.count == 200);
  CHECK(of.min == Seconds{1});
  CHECK(of.p1 == Seconds{2});
  CHECK(of.p5 == Seconds{10});
  CHECK(of.p25 == Seconds{50});
  CHECK(of.p50 == Seconds{100});
  CHECK(of.p75 == Seconds{150});
  CHECK(of.p95 == Seconds{190});
  CHECK(of.p99 == Seconds{198});
  CHECK(of.max == Seconds{200});
  CHECK(of.mean == Seconds{100.5});
  // n (n + 1) / 12
  CHECK(of.stdev.count() == Approx(std::sqrt(200.0 * 201 / 12)));
}

TEST_CASE("A single sample is every percentile", "[core][recording]") {
  const Percentiles of = percentiles_of(std::vector<Seconds>{Seconds{3}});
  CHECK(of.p1 == Seconds{3});
  CHECK(of.p99 == Seconds{3});
  CHECK(of.stdev == Seconds{0});
}

}  // namespace
}  // namespace gradwire
