#include "sim/report/ddp_diff.hpp"

#include <filesystem>

#include "sim/core/error.hpp"
#include "sim/core/output_file.hpp"
#include "sim/report/ddp_json.hpp"
#include "sim/report/result_json.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"
#include "tests/scratch_folder.hpp"

namespace gradwire {
namespace {

/// A measured file: 1 GPU without DDP, then 1 and 2 GPUs. Five equal steps between `fast` and
/// `slow` put p75 on the fourth value and p95 four fifths of the way from it to the fifth.
std::string measured(int bucket, const char* one, const char* two) {
  return R"({"pytorch_version": "1.4.0a0+05140f0", "cuda_version": "10.0",
    "distributed_backend": "nccl", "bucket_size": )" +
         std::to_string(bucket) + R"(, "benchmark_results": [{"model": "resnet50", "batch_size": 32,
    "result": [{"ranks": [0], "measurements": [0.5]}, {"ranks": [0], "measurements": )" +
         one + R"(}, {"ranks": [0, 1], "measurements": )" + two + "}]}]}";
}

/// diff.py of PyTorch's benchmarks/distributed/ddp run on the same two files gives this text.
TEST_CASE("Two measured files differ in the layout of the benchmark's diff.py", "[report][diff]") {
  const test::ScratchFolder folder;
  const std::string baseline = folder.write(
      measured(25, "[0.1, 0.1, 0.1, 0.1005, 0.1]", "[0.103, 0.102, 0.1, 0.101, 0.104]"), "a.json");
  const std::string test = folder.write(
      measured(1, "[0.1, 0.1, 0.1, 0.1008, 0.1]", "[0.105, 0.104, 0.1, 0.1, 0.122]"), "b.json");
  // 1 GPU: p75 is 0.1 in both; p95 = 0.1 + 0.8 * 0.0008 = 0.10064 after 0.1004: -0.24 %.
  // 2 GPUs: p75 = 0.105 after 0.103: -1.94 %; p95 = 0.105 + 0.8 * 0.017 = 0.1186 after 0.1038.
  const DdpDiff diff = ddp_diff(baseline, test);
  CHECK(diff.text ==
        "                                 baseline                      test\n"
        "                     --------------------      --------------------\n"
        "bucket_size:                           25  vs                     1\n"
        "cuda_version:                        10.0  vs                  10.0\n"
        "distributed_backend:                 nccl  vs                  nccl\n"
        "pytorch_version:          1.4.0a0+05140f0  vs       1.4.0a0+05140f0\n"
        "\n"
        "Benchmark: resnet50 with batch size 32\n"
        "\n"
        "                  sec/iter    ex/sec      diff        sec/iter    ex/sec      diff\n"
        "   1 GPUs:  p75:    0.100s     320/s     -0.0%  p95:    0.101s     317/s     -0.2%\n"
        "   2 GPUs:  p75:    0.105s     304/s     -1.9%  p95:    0.119s     269/s    -14.3%\n"
        "\n");
  CHECK(diff.notes.empty());
}

TEST_CASE("A simulated file compares with a measured one, rows of other sizes are left out",
          "[report][diff]") {
  const test::ScratchFolder folder;
  const std::string baseline = folder.write(measured(25, "[0.1]", "[0.1]"), "c.json");
  const std::vector<Point> points = {make_point("no ddp", 1, {{0.097, 1}}),
                                     make_point("1M/1G", 1, {{0.11, 1}}),
                                     make_point("1M/4G", 4, {{0.12, 4}})};
  const std::string as_benchmark = folder.write(ddp_json(points).dump(), "d.json");
  const std::string as_results = folder.write(results_json(points).dump(), "e.json");
  const std::string row =
      "   1 GPUs:  p75:    0.110s     290/s    -10.0%  p95:    0.110s     290/s    -10.0%\n\n";
  for (const std::string& file : {as_benchmark, as_results}) {
    const DdpDiff diff = ddp_diff(baseline, file);
    CHECK_THAT(diff.text, Catch::ContainsSubstring(row));
    REQUIRE(diff.notes.size() == 1);
    CHECK(diff.notes[0] == "resnet50: row 2 left out, 2 ranks against 4");
  }
}

TEST_CASE("One prediction compares with another one", "[report][diff]") {
  const test::ScratchFolder folder;
  const std::string a = folder.write(result_json(make_point("", 8, {{0.1, 8}})).dump(), "f.json");
  const std::string b = folder.write(result_json(make_point("", 8, {{0.09, 8}})).dump(), "g.json");
  CHECK_THAT(ddp_diff(a, b).text,
             Catch::ContainsSubstring("   8 GPUs:  p75:    0.090s     355/s    +10.0%"));
}

TEST_CASE("What is not a result file is refused with its place", "[report][diff]") {
  const test::ScratchFolder folder;
  const std::string good = folder.write(measured(25, "[0.1]", "[0.1]"), "h.json");
  const std::string broken = folder.write("{\n  \"a\": ]\n}", "i.json");
  const std::string other = folder.write(R"({"schema": "something/1"})", "j.json");
  const std::string part =
      folder.write(R"({"benchmark_results": [{"model": "resnet50"}]})", "k.json");
  CHECK_THROWS_WITH(ddp_diff(good, broken),
                    Catch::ContainsSubstring("i.json:2:8: this is not JSON"));
  CHECK_THROWS_WITH(ddp_diff(other, good),
                    Catch::ContainsSubstring("j.json: this is not a result file"));
  CHECK_THROWS_WITH(ddp_diff(part, good), Catch::ContainsSubstring("batch_size"));
  CHECK_THROWS_AS(ddp_diff("/nonexistent.json", good), ConfigError);
  for (const char* count : {"0", "-2", "1.5", "3e99", "2147483648", "\"32\""}) {
    CAPTURE(count);
    const std::string bad =
        folder.write(R"({"benchmark_results": [{"model": "resnet50", "batch_size": )" +
                         std::string(count) + R"(, "result": []}]})",
                     "l.json");
    CHECK_THROWS_WITH(ddp_diff(good, bad), Catch::ContainsSubstring("l.json: 'batch_size' of"));
  }
}

}  // namespace
}  // namespace gradwire
