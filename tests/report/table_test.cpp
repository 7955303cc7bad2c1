#include <algorithm>

#include "sim/report/csv.hpp"
#include "sim/report/nccl_table.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/sweep_table.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

std::vector<ResultRow> rows() {
  return {
      {{{"cluster.nodes", "1"}, {"strategy.bucket_cap", "25 MiB"}},
       result_json(make_point("", 8, {{0.1, 8}})),
       ""},
      {{{"cluster.nodes", "2"}, {"strategy.bucket_cap", "25 MiB"}}, nullptr, "bad, \"very\" bad"}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

TEST_CASE("CSV has one line a row, axes first, the error last and quoted", "[report][csv]") {
  const auto text = lines(csv(rows()));
  REQUIRE(text.size() == 3);
  CHECK(text[0].starts_with("cluster.nodes,strategy.bucket_cap,scenario_sha256,model,strategy,"));
  CHECK_THAT(text[0], Catch::ContainsSubstring(",iteration_time_s.p50,"));
  CHECK(text[0].ends_with(",error"));
  CHECK(text[1].starts_with("1,25 MiB,"));
  const auto commas = std::count(text[0].begin(), text[0].end(), ',');
  CHECK(std::count(text[1].begin(), text[1].end(), ',') == commas);
  CHECK(text[2] == "2,25 MiB" + std::string(static_cast<std::size_t>(commas) - 1, ',') +
                       "\"bad, \"\"very\"\" bad\"");
}

TEST_CASE("The table of a sweep shows axes, figures and the error of a failed row", "[report]") {
  const auto text = lines(sweep_table(rows()));
  REQUIRE(text.size() == 3);
  // 8 x 32 samples in 100 ms, 320/s a GPU against 400/s alone
  CHECK(text[0] ==
        "cluster.nodes  strategy.bucket_cap    GPUs   iter (ms)     samples/s    efficiency"
        "    compute    exposed");
  CHECK(text[1] ==
        "            1               25 MiB       8      100.00        2560.0        80.0 %"
        "      90.00      10.00");
  CHECK(text[2] == "            2               25 MiB  bad, \"very\" bad");
}

TEST_CASE("A sweep's JSON keeps the failed rows with their axes", "[report][json]") {
  const auto json = sweep_json(rows());
  CHECK(json["schema"] == "gradwire.results/1");
  CHECK(json["results"][0]["label"] == "cluster.nodes=1, strategy.bucket_cap=25 MiB");
  CHECK(json["results"][0]["world_size"] == 8);
  CHECK(json["results"][1]["vary"]["cluster.nodes"] == "2");
  CHECK(json["results"][1]["error"] == "bad, \"very\" bad");
}

TEST_CASE("A collective's table has the columns of nccl-tests, then ours", "[report][collective]") {
  CollectiveReport report{.kind = CollectiveKind::all_reduce, .ranks = 16, .rows = {}};
  // 64 MiB in 6.4 ms: 10.49 GB/s, times 2*15/16 = 19.66 GB/s
  report.rows = {{1024, 30.12e-6, 1e-6, "ring", "ll", "table"},
                 {67'108'864, 6.4e-3, 6.2e-3, "ring", "", "model"}};
  const auto text = lines(nccl_table(report));
  REQUIRE(text.size() == 7);
  CHECK(text[2] ==
        "#       size         count      type   redop    root     time   algbw   busbw"
        "  algorithm  protocol  source      bound");
  CHECK(text[4] ==
        "        1024           256     float     sum      -1    30.12    0.03    0.06"
        "       ring        ll   table       1.00");
  CHECK(text[5] ==
        "    67108864      16777216     float     sum      -1   6400.0   10.49   19.66"
        "       ring         -   model     6200.0");
  // the mean of 1.875 * 1024 / 30.12 us and 1.875 * 64 MiB / 6.4 ms
  CHECK(text[6] == "# Avg bus bandwidth    : 9.86227");
}

TEST_CASE("gradwire.collective/1 has the keys of its description", "[report][collective]") {
  const CollectiveReport report{.kind = CollectiveKind::broadcast,
                                .ranks = 4,
                                .rows = {{1000, 1e-6, 5e-7, "chain", "ll", "fit"}}};
  const auto json = collective_json(report);
  CHECK(json["schema"] == "gradwire.collective/1");
  CHECK(json["op"] == "broadcast");
  CHECK(json["ranks"] == 4);
  const auto& row = json["rows"][0];
  CHECK(row["bytes"] == 1000);
  CHECK(row["time_us"].get<double>() == Approx(1));
  // 1000 B in 1 us; a broadcast's bus bandwidth is the same
  CHECK(row["algbw_GBs"].get<double>() == Approx(1));
  CHECK(row["busbw_GBs"].get<double>() == Approx(1));
  CHECK(row["algorithm"] == "chain");
  CHECK(row["protocol"] == "ll");
  CHECK(row["source"] == "fit");
}

TEST_CASE("The summary tells time, parts, communication, links, fidelity and warnings",
          "[report]") {
  Point point = make_point("", 8, {{0.1, 8}});
  point.result.warnings = {{"outside-calibrated-range", "8 ranks were never measured"}};
  const std::string text = summary(point);
  for (const char* part :
       {"test: resnet50, 8 GPUs, batch 32 per GPU, ddp\n", "Iteration      100.00 ms",
        "p50 between 95.00 and 110.00 ms", "2560.0 samples/s, 320.0 per GPU", "80.0 % of 8 times",
        "  exposed communication         10.000     10.0\n", "204.46 MB sent by a rank",
        "node0.nic0.up             25.0 % used, 1.50 GB", "fluid (the default)",
        "Contended      3.00 GB an iteration shared links, 4.00 ms longer than uncontended\n",
        "8 ranks were never measured (outside-calibrated-range)"}) {
    CHECK_THAT(text, Catch::ContainsSubstring(part));
  }
}

TEST_CASE("The summary names no fidelity where nothing shared a link", "[report]") {
  Point point = make_point("", 8, {{0.1, 8}});
  point.result.contended_s = 0;
  CHECK_THAT(summary(point), !Catch::ContainsSubstring("Fidelity"));
  CHECK_THAT(summary(point), !Catch::ContainsSubstring("Contended"));
}

TEST_CASE("The summary tells an iteration of more than 10 s in seconds", "[report]") {
  Point point = make_point("", 8, {{3420.728, 7}, {3500, 1}});
  point.result.iteration_s = {3420.728};
  // p50 less 5 % and more 10 %: 3249.69 and 3762.80
  const std::string text = summary(point);
  CHECK_THAT(text, Catch::ContainsSubstring("Iteration      3420.73 s   p50 3420.73   p75"));
  CHECK_THAT(text, Catch::ContainsSubstring("p50 between 3249.69 and 3762.80 s\n"));
  point.result.iteration_s = {10};
  CHECK_THAT(summary(point), Catch::ContainsSubstring("Iteration      10000.00 ms   p50"));
}

TEST_CASE("No efficiency is shown against a GPU that could not hold the job", "[report]") {
  Point point = make_point("", 8, {{0.1, 8}});
  CHECK_THAT(summary(point), Catch::ContainsSubstring("Efficiency     80.0 % of 8 times"));
  CHECK_FALSE(result_json(point).contains("one_gpu_fits"));
  point.result.one_gpu_fits = false;
  CHECK_THAT(summary(point), Catch::ContainsSubstring("Efficiency     not defined"));
  CHECK(result_json(point)["one_gpu_fits"] == false);
  CHECK(result_json(point)["scaling_efficiency"].is_null());
  const std::vector<ResultRow> swept = {{{{"cluster.nodes", "1"}}, result_json(point), ""}};
  CHECK_THAT(sweep_table(swept), !Catch::ContainsSubstring("80.0 %"));
}

TEST_CASE("A run without noise is not shown as a distribution", "[report]") {
  const std::string text = summary(make_point("", 8, {{0.1, 8}}));
  CHECK_THAT(text, Catch::ContainsSubstring("Iteration      100.00 ms, the same each time\n"));
  CHECK_THAT(text, !Catch::ContainsSubstring("p75"));
}

TEST_CASE("The summary names the slowest and the median rank where they spend time otherwise",
          "[report]") {
  Point point = make_point("", 8, {{0.1, 8}});
  CHECK_THAT(summary(point), !Catch::ContainsSubstring("median rank"));
  point.result.breakdown_median = point.result.breakdown;
  CHECK_THAT(summary(point), !Catch::ContainsSubstring("median rank"));
  point.result.breakdown_median->at(static_cast<std::size_t>(Part::straggler_wait)) = 0.04;
  const std::string text = summary(point);
  CHECK_THAT(text, Catch::ContainsSubstring("%    median rank's ms        %\n"));
  CHECK_THAT(text, Catch::ContainsSubstring("  straggler wait                 0.000      0.0"
                                            "              40.000     40.0\n"));
}

TEST_CASE("A result says which solver ran, and SimGrid's version only where that did",
          "[report][json]") {
  Point point = make_point("", 8, {{0.1, 8}});
  CHECK_THAT(summary(point), Catch::ContainsSubstring("640 flows in 19, by SimGrid version 3.32"));
  point.result.engine_solver = "gradwire";
  point.result.engine_simgrid = "";
  CHECK_THAT(summary(point), Catch::ContainsSubstring("640 flows in 19, by our own solver"));
  const auto json = result_json(point);
  CHECK(json["engine"]["solver"] == "gradwire");
  CHECK_FALSE(json["engine"].contains("simgrid"));
}

TEST_CASE("The parts in a sweep's row add up to its iteration", "[report]") {
  // 30 + 60 ms of compute, 10 exposed (points.hpp), 5 more of coding: 105 ms
  Point point = make_point("", 8, {{0.105, 8}});
  point.result.breakdown.at(static_cast<std::size_t>(Part::encode_decode)) = 0.005;
  const ResultRow row{.axes = {{"n", "1"}}, .result = result_json(point), .error = ""};
  const std::string text = sweep_table(std::vector<ResultRow>{row});
  CHECK_THAT(text, Catch::ContainsSubstring("efficiency    compute    exposed     coding\n"));
  CHECK_THAT(text, Catch::ContainsSubstring("      90.00      10.00       5.00\n"));
}

TEST_CASE("A sweep's JSON is the same text row by row", "[report]") {
  for (const std::vector<ResultRow>& list : {rows(), std::vector<ResultRow>()}) {
    CHECK(sweep_json_text(list) == sweep_json(list).dump(2) + '\n');
  }
}

TEST_CASE("A table's lines are those of its CSV", "[report]") {
  const std::vector<ResultRow> list = rows();
  const CsvLines lines(list.front());
  std::string text = lines.head();
  for (const ResultRow& row : list) text += lines.line(row);
  CHECK(text == csv(list));
}

}  // namespace
}  // namespace gradwire
