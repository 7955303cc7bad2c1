// Gloo on this project's lab: real PyTorch processes on shaped links (../shared/lab), held against
// the model. One constant is calibrated, the latency of a step, on the 4 KiB all-reduce of 2 ranks;
// the link's rate is the payload that a plain socket reached.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/cost/gloo.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/host_libraries.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Row {
  std::string op;
  int ranks = 0;
  std::int64_t bytes = 0;
  double seconds = 0;  ///< median over repetitions of the slowest rank
};

std::vector<Row> lab_rows() {
  const auto folder = test::shared("lab/data");
  std::vector<Row> rows;
  for (const char* name : {"gloo_allreduce_w2_r300_run1.json", "gloo_allreduce_w4_r300_run1.json",
                           "gloo_other_w2_r300_run1.json", "gloo_other_w4_r300_run1.json"}) {
    std::ifstream in(folder / name);
    for (const auto& record : nlohmann::json::parse(in)) {
      rows.push_back(
          {record["op"], record["world"], record["bytes"], record["max_over_ranks"]["p50"]});
    }
  }
  return rows;
}

/// 0.9525 of 300 Mbit/s: TCP payload of 1448 in 1514 B and acknowledgements (data/goodput.jsonl).
constexpr double rate = 0.9525 * 300e6 / 8;

double predicted(const Row& row, double port_latency) {
  static const std::map<std::string, CollectiveKind> kinds = {
      {"all_reduce", CollectiveKind::all_reduce},
      {"all_reduce_pair", CollectiveKind::all_reduce},
      {"all_gather", CollectiveKind::all_gather},
      {"broadcast", CollectiveKind::broadcast},
      {"reduce", CollectiveKind::reduce}};
  const auto cluster =
      host_cluster(row.ranks, {"lab", "tcp", BytesPerSecond{rate}, Seconds{port_latency}});
  // The lab counts an all-gather by what one rank gives.
  const std::int64_t size = row.op == "all_gather" ? row.ranks * row.bytes : row.bytes;
  return time_of(GlooLibrary(cluster, gloo_options()), *cluster, kinds.at(row.op), Bytes{size},
                 row.op == "all_reduce_pair" ? 2 : 1);
}

}  // namespace

TEST_CASE("Gloo's collectives in the lab are within 3 % (all-reduce) and 10 % (others)",
          "[validation][gloo]") {
  if (test::skipped_without(test::shared("lab/data"))) return;
  const std::vector<Row> rows = lab_rows();
  // 4 KiB on 2 ranks: two steps, nothing but latency.
  const auto least = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.op == "all_reduce" && row.ranks == 2 && row.bytes == 4096;
  });
  REQUIRE(least != rows.end());
  const double port_latency = (least->seconds / 2 - gloo_options().constants.step.count()) / 2;
  int compared = 0;
  std::vector<std::string> missed;
  for (const Row& row : rows) {
    const bool all_reduce = row.op == "all_reduce" || row.op == "all_reduce_pair";
    if (row.bytes < (all_reduce && row.op == "all_reduce" ? 4 << 20 : 1 << 20)) continue;
    const double error = predicted(row, port_latency) / row.seconds - 1;
    const double allowed = row.op == "all_reduce" ? 0.03 : 0.10;
    ++compared;
    INFO(row.op << " " << row.bytes << " B, " << row.ranks << " ranks: " << 100 * error << " %");
    if (std::abs(error) <= allowed) continue;
    missed.push_back(row.op + " " + std::to_string(row.ranks) + " " + std::to_string(row.bytes));
    UNSCOPED_INFO(missed.back() << ": " << 100 * error << " %");
  }
  CHECK(compared == 22);
  // The others are measured again, alone, in results/reference/collectives.yaml. In these records
  // both ranks of an all-gather enter together, which makes of it 1.0 or 1.5 times the wire (a job:
  // 1.5), and a broadcast follows an all-gather over the same connections, whose window gives the
  // first child a larger share (2.7 times the wire; alone, 2.95).
  CHECK(missed == std::vector<std::string>{"all_gather 2 1048576", "broadcast 4 1048576"});
}
