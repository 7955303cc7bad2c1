#include <fmt/format.h>

#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit/hold_out.hpp"
#include "tests/calibration/published.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

ErrorSummary print(const std::string& title, const std::vector<HeldOutRow>& rows) {
  const ErrorSummary all = summarise(rows, 1_MiB);
  std::cout << fmt::format("{}: {} rows, mean {:.1f} %, p90 {:.1f} %, worst {:.1f} %\n", title,
                           all.rows, 100 * all.mean, 100 * all.p90, 100 * all.worst);
  for (const HeldOutRow& row : rows) {
    if (row.sample.size < 1_MiB) continue;
    std::cout << fmt::format("  {:>3} ranks {:>12} B {:>10.1f} us measured, {:+6.1f} %\n",
                             row.sample.shape.ranks, row.sample.size.count(),
                             row.sample.time.count() * 1e6,
                             100 * (row.predicted / row.sample.time - 1));
  }
  return all;
}

/// Fits the samples of some rank counts from 1 MiB on, and predicts the others.
std::vector<HeldOutRow> from_ranks(const std::vector<FitSample>& samples,
                                   const std::set<int>& fitted) {
  std::vector<FitSample> known;
  std::vector<FitSample> others;
  for (const FitSample& sample : samples) {
    if (sample.size < 1_MiB) continue;
    (fitted.contains(sample.shape.ranks) ? known : others).push_back(sample);
  }
  return predict(known, others);
}

}  // namespace

// The bounds are those that the project set itself (every second size: mean 3 %, 90th percentile
// 8 %; other rank counts: mean 8 %, worst 25 %), over the rows from 1 MiB on.

TEST_CASE("Every second size of the all-reduce tables of one node tells the others",
          "[fit][published]") {
  if (test::skipped_without(test::published_tables())) return;
  std::vector<HeldOutRow> rows;
  for (const auto& [id, source, series] : test::read_published()) {
    const bool wanted = id.starts_with("vtrain") || id.starts_with("superbench") ||
                        id.starts_with("odissei") || id.starts_with("mle-h200");
    if (!wanted || series.op != CollectiveKind::all_reduce) continue;
    const std::vector<HeldOutRow> more = every_second_size({&series, 1});
    print(id, more);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const ErrorSummary all = summarise(rows, 1_MiB);
  CHECK(all.rows == 69);
  CHECK(all.mean <= 0.03);
  CHECK(all.p90 <= 0.08);
}

TEST_CASE("All-reduce on 2 and 4 A100 tells that on 3, 5 and 8", "[fit][published]") {
  if (test::skipped_without(test::published_tables())) return;
  const auto where = test::machine("cluster: {node: dgx_a100, nodes: 1, gpus_per_node: 8}");
  const ErrorSummary all = print(
      "A100", from_ranks(test::samples(test::read_published(), "vtrain-a100", where), {2, 4}));
  CHECK(all.rows == 33);
  CHECK(all.mean <= 0.08);
  CHECK(all.worst <= 0.25);
}

TEST_CASE("All-reduce on 2 and 4 V100 tells that on 3, 6 and 8 through the rings they have",
          "[fit][published]") {
  if (test::skipped_without(test::published_tables())) return;
  const auto where = test::machine("cluster: {node: dgx1v, nodes: 1, gpus_per_node: 8}");
  const ErrorSummary all = print(
      "V100", from_ranks(test::samples(test::read_published(), "vtrain-v100", where), {2, 4}));
  CHECK(all.rows == 33);
  CHECK(all.mean <= 0.08);
  CHECK(all.worst <= 0.25);
}

}  // namespace gradwire
