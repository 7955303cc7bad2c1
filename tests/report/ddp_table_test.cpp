#include "sim/report/ddp_table.hpp"

#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

/// The first rows of the output in PyTorch's benchmarks/distributed/ddp/README.md. A rate of r/s,
/// truncated, comes from 32/(r + 0.5) seconds; the counts put numpy's rank (n-1)p/100 of each
/// percentile on the wanted sample.
TEST_CASE("The table has the layout of the PyTorch DDP benchmark", "[report][ddp]") {
  const std::vector<Point> points = {
      make_point("no ddp", 1, {{32 / 329.5, 10}}),
      // ranks 4.5 and 6.75 of 0..9: the first six samples are the faster ones
      make_point("1M/1G", 1, {{32 / 319.5, 6}, {32 / 318.9, 4}}),
      // rank 17.1 of 0..19 is nearer to the faster sample (310.4/s), 18.05 is the slower one
      make_point("1M/2G", 2, {{32 / 310.5, 18}, {32 / 309.5, 2}}),
      // ranks 59.25 and 71.1 of 0..79
      make_point("1M/8G", 8, {{32 / 307.5, 70}, {32 / 306.5, 10}}),
  };
  const std::string expected =
      "Benchmark: resnet50 with batch size 32\n"
      "\n"
      "                            sec/iter    ex/sec      sec/iter    ex/sec      sec/iter    "
      "ex/sec"
      "      sec/iter    ex/sec\n"
      "   1 GPUs --   no ddp:  p50:  0.097s     329/s  p75:  0.097s     329/s  p90:  0.097s     "
      "329/s"
      "  p95:  0.097s     329/s\n"
      "   1 GPUs --    1M/1G:  p50:  0.100s     319/s  p75:  0.100s     318/s  p90:  0.100s     "
      "318/s"
      "  p95:  0.100s     318/s\n"
      "   2 GPUs --    1M/2G:  p50:  0.103s     310/s  p75:  0.103s     310/s  p90:  0.103s     "
      "310/s"
      "  p95:  0.103s     309/s\n"
      "   8 GPUs --    1M/8G:  p50:  0.104s     307/s  p75:  0.104s     307/s  p90:  0.104s     "
      "306/s  p95:  0.104s     306/s\n";
  const std::string table = ddp_table(points);
  CHECK(table.substr(0, expected.size()) == expected);
}

TEST_CASE("Our own line follows for each point of the table", "[report][ddp]") {
  // 8 ranks x 32 samples in the mean iteration of 0.1 s: 2560/s; one GPU alone 32/0.08 = 400/s, so
  // 320/400 = 80 %; exposed 10 ms of 100 ms; p50 of 0.1 s less 5 % and plus 10 %.
  const std::vector<Point> points = {make_point("1M/8G", 8, {{0.1, 8}})};
  const std::string table = ddp_table(points);
  const std::string expected =
      "\n"
      "                         ex/sec, all  efficiency     exposed communication           p50 "
      "between\n"
      "   8 GPUs --    1M/8G:      2560.0/s      80.0 %          10.00 ms (10.0 %)        0.095 - "
      "0.110s\n";
  CHECK(table.substr(table.size() - expected.size()) == expected);
}

TEST_CASE("Points of another model or batch size start another benchmark", "[report][ddp]") {
  std::vector<Point> points(3, make_point("1M/1G", 1, {{0.1, 1}}));
  points[1].model = "resnet101";
  points[2].model = "resnet101";
  points[2].result.batch_per_gpu = 64;
  const std::string table = ddp_table(points);
  CHECK(table.starts_with("Benchmark: resnet50 with batch size 32\n"));
  CHECK_THAT(table, Catch::ContainsSubstring("\n\nBenchmark: resnet101 with batch size 32\n"));
  CHECK_THAT(table, Catch::ContainsSubstring("\n\nBenchmark: resnet101 with batch size 64\n"));
  // 64 samples in 0.1 s
  CHECK_THAT(table, Catch::ContainsSubstring("p95:  0.100s     640/s"));
}

TEST_CASE("Long labels and large worlds keep the columns aligned", "[report][ddp]") {
  const std::vector<Point> points = {make_point("no ddp", 1, {{0.1, 1}}),
                                     make_point("8192M/8G", 65536, {{0.1, 1}})};
  const std::string table = ddp_table(points);
  CHECK_THAT(table, Catch::ContainsSubstring("\n    1 GPUs --     no ddp:  p50:"));
  CHECK_THAT(table, Catch::ContainsSubstring("\n65536 GPUs --   8192M/8G:  p50:"));
}

}  // namespace
}  // namespace gradwire

TEST_CASE("The benchmark's own text begins with its banner and has its rows alone",
          "[report][ddp]") {
  const std::vector<Point> points = {make_point("no ddp", 1, {{0.08, 1}}),
                                     make_point("1M/2G", 2, {{0.1, 2}})};
  const std::string text = ddp_benchmark_text(points);
  // benchmark.py, main: the banner, the job, nvidia-smi's matrix, then "Benchmark: ...".
  CHECK(
      text.starts_with("-----------------------------------\n"
                       "PyTorch distributed benchmark suite\n"
                       "-----------------------------------\n"
                       "\n"
                       "* PyTorch version: ddp (gradwire "));
  CHECK(text.find("* CUDA version: -\n"
                  "* Distributed backend: nccl\n"
                  "* Maximum bucket size: 25MB\n"
                  "\n"
                  "--- nvidia-smi topo -m ---\n") != std::string::npos);
  CHECK(text.find("\nBenchmark: resnet50 with batch size 32\n\n") != std::string::npos);
  CHECK(
      text.ends_with("   2 GPUs --    1M/2G:  p50:  0.100s     320/s  p75:  0.100s     320/s  "
                     "p90:  0.100s     320/s  p95:  0.100s     320/s\n"));
}
