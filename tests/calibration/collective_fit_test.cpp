#include "calibration/fit/collective_fit.hpp"

#include <array>
#include <string>
#include <vector>

#include "calibration/fit/fit_report.hpp"
#include "calibration/fit/hold_out.hpp"
#include "calibration/fit/least_squares.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

constexpr double rate = 100e9;  // of the busiest link, bytes per second

/// A ring all-reduce inside a machine: 2(n-1) steps, 2(n-1)/n bytes a byte on the busiest link.
CollectiveShape ring(int ranks) {
  CollectiveShape shape;
  shape.ranks = ranks;
  shape.machines = 1;
  shape.local_steps = 2.0 * (ranks - 1);
  shape.per_byte = Seconds{2.0 * (ranks - 1) / ranks / rate};
  return shape;
}

struct Truth {
  double launch = 0;
  double hop = 0;
  double link_time = 1;
  double pass = 0;
};

Seconds time_of(const Truth& truth, const CollectiveShape& shape, Bytes size) {
  const auto bytes = static_cast<double>(size.count());
  return Seconds{truth.launch + shape.local_steps * truth.hop +
                 bytes * (truth.link_time * shape.per_byte.count() + truth.pass)};
}

/// Sizes 1 MiB, 2 MiB, ... 1 GiB on these rank counts, of one regime, or of `above` from `chunk`
/// bytes a rank on.
std::vector<FitSample> made(const std::vector<int>& ranks, const Truth& below, Bytes chunk = {},
                            const Truth& above = {}) {
  std::vector<FitSample> samples;
  for (const int count : ranks) {
    for (int power = 20; power <= 30; ++power) {
      const Bytes size{std::int64_t{1} << power};
      const bool upper = chunk.count() > 0 && size.count() / count >= chunk.count();
      const CollectiveShape shape = ring(count);
      samples.push_back({CollectiveKind::all_reduce, shape, size,
                         time_of(upper ? above : below, shape, size), "ring", ""});
    }
  }
  return samples;
}

/// For rows without noise: NCCL's latencies count only for what the rows do not tell.
constexpr FitOptions exact{.prior_weight = 1e-3};

constexpr Truth slow_start{30e-6, 2e-6, 1.5, 0};
constexpr Truth full_speed{40e-6, 4e-6, 1.05, 1e-12};

}  // namespace

TEST_CASE("Least squares finds the weights that made the rows", "[fit]") {
  // y = 3 x0 + 0 x1 + 0.5 x2, without noise.
  LeastSquares<3> sums;
  for (const auto& x :
       {std::array{1.0, 2.0, 5.0}, {2.0, 1.0, 3.0}, {4.0, 7.0, 1.0}, {3.0, 3.0, 8.0}}) {
    sums.add(x, 3 * x[0] + 0.5 * x[2]);
  }
  const auto solution = sums.non_negative();
  CHECK(solution.weights[0] == Approx(3));
  CHECK(solution.weights[1] == Approx(0).margin(1e-9));
  CHECK(solution.weights[2] == Approx(0.5));
  CHECK(solution.residual == Approx(0).margin(1e-9));
}

TEST_CASE("Least squares without negative weights leaves such a term out", "[fit]") {
  // Free, y = x0 - x1 would fit exactly; with x1 at 0 the best x0 is sum(x0 y) / sum(x0 x0):
  // rows (1, 0): 1 and (1, 1): 0 give 1 / 2, and the residual 2 * (1/2)^2 = 1/2.
  LeastSquares<2> sums;
  sums.add({1, 0}, 1);
  sums.add({1, 1}, 0);
  const auto solution = sums.non_negative();
  CHECK(solution.weights[0] == Approx(0.5));
  CHECK(solution.weights[1] == 0);
  CHECK(solution.residual == Approx(0.5));
  CHECK(solution.used == 1);
}

TEST_CASE("A fit of some rank counts tells the times of others", "[fit]") {
  const CollectiveFit fit = fit_samples(made({2, 4, 8}, full_speed), exact);
  REQUIRE(fit.segments.size() == 1);
  CHECK(fit.ranks == std::vector{2, 4, 8});
  CHECK(fit.segments[0].rows == 33);
  CHECK(fit.residual_p95 < 1e-3);
  for (const int ranks : {3, 6, 16}) {
    for (const Bytes size : {1_MiB, 25_MiB, 900_MiB}) {
      const double truth = time_of(full_speed, ring(ranks), size).count();
      INFO(ranks << " ranks, " << size.count() << " B");
      CHECK(fitted_time(fit, ring(ranks), size).count() == Approx(truth).epsilon(1e-3));
    }
  }
}

TEST_CASE("A change of protocol at a size a rank is found and carried over", "[fit]") {
  const std::vector<FitSample> samples = made({2, 4}, slow_start, 8_MiB, full_speed);
  const CollectiveFit fit = fit_samples(samples, exact);
  REQUIRE(fit.segments.size() == 2);
  CHECK(fit.segments[0].chunk_last == 4_MiB);
  CHECK(fit.segments[1].chunk_first == 8_MiB);
  // On 8 ranks the change comes at 64 MiB, where neither 2 nor 4 ranks had it.
  for (const FitSample& other : made({8}, slow_start, 8_MiB, full_speed)) {
    INFO(other.size.count() << " B");
    CHECK(fitted_time(fit, other.shape, other.size).count() ==
          Approx(other.time.count()).epsilon(2e-3));
  }
}

TEST_CASE("A single regime is not cut", "[fit]") {
  CHECK(fit_samples(made({2, 4, 8}, slow_start)).segments.size() == 1);
  CHECK(fit_samples(made({2, 4, 8}, slow_start), exact).segments.size() == 1);
}

TEST_CASE("Rows that name their protocol are fitted apart", "[fit]") {
  std::vector<FitSample> samples = made({2, 4}, slow_start);
  std::vector<FitSample> others = made({2, 4}, full_speed);
  for (FitSample& sample : samples) sample.protocol = "ll128";
  for (FitSample& sample : others) sample.protocol = "simple";
  samples.insert(samples.end(), others.begin(), others.end());
  const CollectiveFit fit = fit_samples(samples, exact);
  REQUIRE(fit.segments.size() == 2);
  for (const FitSegment& segment : fit.segments) {
    const Truth& truth = segment.protocol == "ll128" ? slow_start : full_speed;
    INFO(segment.protocol);
    CHECK(segment.rows == 22);
    CHECK(segment.hop_local.count() == Approx(truth.hop).epsilon(0.01));
  }
}

TEST_CASE("With one rank count launch and hops both move from NCCL's own latencies", "[fit]") {
  // Nothing tells 2 hops from a launch; 40 us are more than NCCL's 18.4 us + 2 * 3.4 us.
  const CollectiveFit fit = fit_samples(made({2}, {40e-6, 0, 1, 0}), exact);
  REQUIRE(fit.segments.size() == 1);
  const FitSegment& segment = fit.segments[0];
  CHECK(segment.launch.count() > 18.4e-6);
  CHECK(segment.hop_local.count() > 3.4e-6);
  CHECK((segment.launch + 2.0 * segment.hop_local).count() == Approx(40e-6).epsilon(1e-3));
}

TEST_CASE("As it counts by default, the prior moves a fit by no more than the rows' 10 %",
          "[fit]") {
  const CollectiveFit fit = fit_samples(made({2, 4, 8}, full_speed));
  CHECK(fit.residual_p95 < 0.1);
}

TEST_CASE("No fitted time beats the busiest link", "[fit]") {
  // Measurements that do: half the time the link needs.
  const CollectiveFit fit = fit_samples(made({2, 4}, {0, 0, 0.5, 0}));
  for (const Bytes size : {1_MiB, 64_MiB, 4096_MiB}) {
    const CollectiveShape shape = ring(4);
    CHECK(fitted_time(fit, shape, size) >= static_cast<double>(size.count()) * shape.per_byte);
  }
}

TEST_CASE("Between two segments the time goes straight from one to the other", "[fit]") {
  CollectiveFit fit;
  FitSegment low;
  low.chunk_first = Bytes{1};
  low.chunk_last = Bytes{1000};
  low.launch = 10_us;
  low.link_time = 0;
  FitSegment high = low;
  high.chunk_first = Bytes{2000};
  high.chunk_last = Bytes{9000};
  high.launch = 30_us;
  fit.segments = {low, high};
  CollectiveShape shape;  // no steps, no link: the launch alone
  shape.ranks = 2;
  CHECK(fitted_time(fit, shape, Bytes{2000}).count() == Approx(10e-6));
  CHECK(fitted_time(fit, shape, Bytes{3000}).count() == Approx(20e-6));  // half way
  CHECK(fitted_time(fit, shape, Bytes{4000}).count() == Approx(30e-6));
  CHECK(fitted_time(fit, shape, Bytes{99'000}).count() == Approx(30e-6));
  CHECK(fitted_time(fit, shape, Bytes{0}).count() == Approx(10e-6));
}

TEST_CASE("At numbers of ranks that a fit has not seen the library's algorithm prices", "[fit]") {
  CollectiveFit fit;
  fit.ranks = {8};
  FitSegment tree;
  tree.algorithm = "tree";
  tree.chunk_first = Bytes{1};
  tree.chunk_last = Bytes{1000};
  tree.launch = 10_us;
  tree.link_time = 0;
  FitSegment ring = tree;
  ring.algorithm = "ring";
  ring.chunk_first = Bytes{2000};
  ring.chunk_last = Bytes{9000};
  ring.launch = 30_us;
  fit.segments = {tree, ring};
  CHECK(priced_as(fit, 8, "tree").empty());  // its own rows say where it changes
  CHECK(priced_as(fit, 32, "tree") == "tree");
  CHECK(priced_as(fit, 32, "nvls").empty());  // no segment has it
  CollectiveShape shape;                      // no steps, no link: the launch alone
  shape.ranks = 32;
  const Bytes size{32 * 5000};  // of the ring's chunks
  CHECK(fitted_time(fit, shape, size).count() == Approx(30e-6));
  CHECK(fitted_time(fit, shape, size, "tree").count() == Approx(10e-6));
  CHECK(segment_for(fit, 32, size, "tree").algorithm == "tree");
  CHECK(segment_for(fit, 32, size).algorithm == "ring");
}

TEST_CASE("Over a network all time a byte is the link's, whatever the rank counts", "[fit]") {
  // 1.7 times the link's time and 40 ps of a pass, on 8 ranks: nothing tells one from the other.
  std::vector<FitSample> samples = made({8}, {20e-6, 0, 1.7, 40e-12});
  for (FitSample& sample : samples) sample.shape.hops = HopClass::network;
  const CollectiveFit fit = fit_samples(samples, exact);
  for (const FitSegment& segment : fit.segments) CHECK(segment.local_pass == Seconds{});
  CHECK(fit.residual_p95 < 1e-2);
}

TEST_CASE("Held-out rows are not fitted", "[fit]") {
  // 8 ranks are three times slower than 2 and 4 would have it: a fit without them cannot know.
  std::vector<FitSample> samples = made({2, 4}, full_speed);
  for (FitSample sample : made({8}, full_speed)) {
    sample.time = 3.0 * sample.time;
    samples.push_back(sample);
  }
  for (const HeldOutRow& row : fold_over_ranks(samples, exact)) {
    if (row.sample.shape.ranks != 8) continue;
    CHECK(row.predicted / row.sample.time == Approx(1.0 / 3).epsilon(1e-3));
  }
  CHECK(fold_over_ranks(made({4}, full_speed)).empty());

  // Over sizes each row but the smallest and largest is held out once.
  const auto folded = fold_over_sizes(made({2, 4}, full_speed), 3, exact);
  CHECK(folded.size() == 2 * 9);
  CHECK(summarise(folded).worst < 1e-3);
}

TEST_CASE("Errors are summed up as mean, 90th percentile and worst", "[fit]") {
  std::vector<HeldOutRow> rows(2);
  rows[0].sample.time = Seconds{1};
  rows[0].predicted = Seconds{1.1};
  rows[1].sample.time = Seconds{1};
  rows[1].sample.size = 1_MiB;
  rows[1].predicted = Seconds{0.7};
  // |+10 %|, |-30 %|; percentile 90 of two: 0.1 + 0.9 (0.3 - 0.1) = 28 %.
  const ErrorSummary all = summarise(rows);
  CHECK(all.rows == 2);
  CHECK(all.mean == Approx(0.2));
  CHECK(all.p90 == Approx(0.28));
  CHECK(all.worst == Approx(0.3));
  CHECK(summarise(rows, 1_MiB).rows == 1);
  CHECK(summarise({}).rows == 0);
}

TEST_CASE("The report tells calibration from hold-out, and what the links promise", "[fit]") {
  const std::vector<FitSample> samples = made({2, 4}, full_speed);
  const std::string errors = error_table(samples, 5, 1_MiB, exact);
  CHECK_THAT(errors, Catch::ContainsSubstring("calibration"));
  CHECK_THAT(errors, Catch::ContainsSubstring("hold-out over rank counts"));
  CHECK_THAT(errors, Catch::ContainsSubstring("2,4"));
  // 4 ranks: bus bandwidth 1.5 / (1.05 * 1.5 / 100 + 1 / 1000) = 89.6 GB/s; the link has 100.
  const std::string segments = segment_table(fit_all(samples, exact), samples);
  CHECK_THAT(segments, Catch::ContainsSubstring("89.6 / 100.0"));
}

TEST_CASE("A regime ends where the algorithm changes for good, and is priced by its own steps",
          "[fit]") {
  // One regime of times, but small sizes take trees of two steps each way, and one size of them a
  // ring: without the change all would be called a ring, of 14 steps on 8 ranks.
  std::vector<FitSample> samples = made({4}, slow_start);
  CollectiveShape tree = ring(4);
  tree.local_steps = 4;
  for (std::size_t i = 0; i < 5; ++i) {
    if (i == 2) continue;
    samples[i].shape = tree;
    samples[i].algorithm = "tree";
    samples[i].time = time_of(slow_start, tree, samples[i].size);
  }
  const CollectiveFit fit = fit_samples(samples, exact);
  REQUIRE(fit.segments.size() == 2);
  CHECK(fit.segments[0].algorithm == "tree");
  CHECK(fit.segments[0].chunk_last == Bytes{(16 << 20) / 4});
  CHECK(fit.segments[1].algorithm == "ring");
}

}  // namespace gradwire
