#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit/hold_out.hpp"
#include "tests/calibration/published.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

constexpr const char* dgx_a100 = "cluster: {node: dgx_a100, nodes: 1, gpus_per_node: 8}";
constexpr const char* dgx1v = "cluster: {node: dgx1v, nodes: 1, gpus_per_node: 8}";
constexpr const char* hgx_h100 = "cluster: {node: hgx_h100, nodes: 1, gpus_per_node: 8}";
constexpr const char* hgx_h200 = "cluster: {node: hgx_h200, nodes: 1, gpus_per_node: 8}";
/// Slingshot 11: two 200 Gbit/s ports a node (ALCF, Polaris); latency assumed, the fit has its own.
constexpr const char* polaris =
    "cluster: {node: polaris, nodes: 8, gpus_per_node: 4, fabric: {kind: single_switch, link: "
    "{bandwidth: 200 Gbit/s, latency: 2 us, kind: roce}}}\n"
    "collective: {library: nccl, version: \"2.18\"}";

bool missing() {
  if (std::filesystem::exists(test::published_tables())) return false;
  std::cout << "published tables are not there: skipped\n";
  return true;
}

void print(const std::string& title, const std::vector<HeldOutRow>& rows, Bytes from) {
  const ErrorSummary all = summarise(rows, from);
  std::cout << fmt::format("{}: {} rows, mean {:.1f} %, p90 {:.1f} %, worst {:.1f} %\n", title,
                           all.rows, 100 * all.mean, 100 * all.p90, 100 * all.worst);
  for (const HeldOutRow& row : rows) {
    if (row.sample.size < from) continue;
    std::cout << fmt::format("  {:>3} ranks {:>12} B {:>10.1f} us measured, {:+6.1f} %\n",
                             row.sample.shape.ranks, row.sample.size.count(),
                             row.sample.time.count() * 1e6,
                             100 * (row.predicted / row.sample.time - 1));
  }
}

/// Fits the samples of some rank counts and predicts the others.
std::vector<HeldOutRow> from_ranks(const std::vector<FitSample>& samples,
                                   const std::set<int>& fitted, Bytes from) {
  std::vector<FitSample> known;
  std::vector<FitSample> others;
  for (const FitSample& sample : samples) {
    if (sample.size < from) continue;
    (fitted.contains(sample.shape.ranks) ? known : others).push_back(sample);
  }
  return predict(known, others);
}

}  // namespace

TEST_CASE("explore", "[fit]") {
  if (missing()) return;
  const auto all = test::read_published();
  std::vector<HeldOutRow> b;
  std::vector<HeldOutRow> reduced;
  for (const auto& [name, where] :
       std::vector<std::pair<std::string, std::string>>{{"vtrain-a100", dgx_a100},
                                                        {"vtrain-v100", dgx1v},
                                                        {"superbench-a100", dgx_a100},
                                                        {"odissei-h100", hgx_h100},
                                                        {"mle-h200", hgx_h200}}) {
    for (const auto& one : all) {
      if (!one.id.starts_with(name)) continue;
      const auto rows = every_second_size({&one.series, 1});
      const ErrorSummary s = summarise(rows, 1_MiB);
      std::cout << fmt::format("{}: {} mean {:.1f} p90 {:.1f} worst {:.1f}\n", one.id, s.rows,
                               100 * s.mean, 100 * s.p90, 100 * s.worst);
      b.insert(b.end(), rows.begin(), rows.end());
      if (one.series.op == CollectiveKind::all_reduce)
        reduced.insert(reduced.end(), rows.begin(), rows.end());
    }
  }
  for (const auto& rows : {b, reduced}) {
    const ErrorSummary s = summarise(rows, 1_MiB);
    std::cout << fmt::format("b: {} mean {:.2f} p90 {:.2f} worst {:.1f}\n", s.rows, 100 * s.mean,
                             100 * s.p90, 100 * s.worst);
  }
  print("A100 2,4",
        from_ranks(test::samples(all, "vtrain-a100", test::machine(dgx_a100)), {2, 4}, 1_MiB),
        1_MiB);
  print("V100 2,4",
        from_ranks(test::samples(all, "vtrain-v100", test::machine(dgx1v)), {2, 4}, 1_MiB), 1_MiB);
  std::vector<FitSample> p;
  for (const auto& one : all) {
    if (one.id == "alcf-polaris-nccl2.18-n2-env4-all_reduce" ||
        one.id == "alcf-polaris-nccl2.18-n8-env4-all_reduce") {
      const auto more =
          samples_of(one.series, *test::machine(polaris).cluster, *test::machine(polaris).library);
      p.insert(p.end(), more.begin(), more.end());
    }
  }
  print("Polaris 8", from_ranks(p, {8}, 1_MiB), 1_MiB);
  print("Polaris 8 all", from_ranks(p, {8}, Bytes{1}), 1_MiB);
}

}  // namespace gradwire
