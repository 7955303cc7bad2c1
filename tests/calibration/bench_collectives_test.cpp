#include "calibration/import/bench_collectives.hpp"

#include <string>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"

namespace gradwire::calibration {
namespace {

const std::string head =
    R"({"schema": "gradwire.bench.collectives/1", "tool": "gradwire-bench 0.1.0",
 "library": "nccl", "version": "2.28.9", "node": "gpu01", "gpu": "NVIDIA H200",
 "ranks": 4, "nodes": 2, "placement": [0, 0, 1, 1], "op": "all_reduce", "dtype": "float32",
)";
const std::string one_row =
    R"({"size_bytes": 1024, "n": 50, "mean_us": 22, "min_us": 20, "p50_us": 21, "p95_us": 23,
  "p99_us": 25, "max_us": 26, "pipelined_us": 14, "predicted_us": 15, "channels": 2})";
const std::string later_row =
    R"({"size_bytes": 2048, "n": 50, "mean_us": 32, "min_us": 30, "p50_us": 31, "p95_us": 33,
  "p99_us": 35, "max_us": 36})";

CollectiveBench read(const std::string& rows, const std::string& algorithm = "ring") {
  return read_bench_collectives(
      head + R"( "algorithm": ")" + algorithm + R"(", "protocol": "auto", "rows": [)" + rows + "]}",
      "dir/run.json");
}

std::string error_of(const std::string& text) {
  return gradwire::test::refusal_of([&] { return read_bench_collectives(text, "run.json"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("A benchmarked collective becomes a series; pipelined times count before single calls",
          "[import][bench]") {
  const CollectiveBench bench = read(one_row + ", " + later_row);
  const MeasuredSeries& series = bench.series;
  CHECK(series.op == CollectiveKind::all_reduce);
  CHECK(series.ranks == 4);
  CHECK(series.machines == 2);
  CHECK(series.version == "2.28.9");
  CHECK_FALSE(series.in_place);
  CHECK(series.source.kind == "recorded");
  CHECK(series.source.file == "run.json");
  REQUIRE(series.rows.size() == 2);
  CHECK(series.rows[0].time.count() == Approx(14e-6));  // pipelined_us
  CHECK(series.rows[1].time.count() == Approx(31e-6));  // p50_us: nothing was pipelined
  CHECK(series.rows[0].algorithm == "ring");
  CHECK(series.rows[0].protocol.empty());
  CHECK(series.rows[0].channels == 2);
  CHECK(bench.machines == std::vector<int>{0, 0, 1, 1});
  REQUIRE(bench.calls.size() == 2);
  CHECK(bench.calls[0].p99.count() == Approx(25e-6));
  CHECK(bench.calls[0].predicted.value().count() == Approx(15e-6));
  CHECK_FALSE(bench.calls[1].predicted.has_value());
  CHECK(read(one_row, "auto").series.rows[0].algorithm.empty());
}

TEST_CASE("A file of collectives that contradicts itself is refused at its place",
          "[import][bench]") {
  const std::string good =
      head + R"( "algorithm": "auto", "protocol": "auto", "rows": [)" + one_row + "]}";
  CHECK(error_of(good) == "accepted");
  CHECK(error_of(replaced(good, "all_reduce", "all_reduced"))
            .starts_with("run.json:3:59: 'op' is 'all_reduced'; expected one of all_reduce, "));
  CHECK(error_of(replaced(good, "[0, 0, 1, 1]", "[0, 0, 0, 0]")) ==
        "run.json:3:39: 'placement' puts 4 ranks on 1 nodes; expected 4 ranks on 2");
  CHECK(error_of(replaced(good, "[0, 0, 1, 1]", "[0, 0, 1, 2]")) ==
        "run.json:3:49: 'placement' is '2'; expected a whole number, at least 0, at most 1");
  CHECK(error_of(replaced(good, "\"min_us\": 20", "\"min_us\": 24"))
            .ends_with("the percentiles fall; expected min_us <= p50_us <= ... <= max_us"));
  CHECK(error_of(replaced(good, one_row, one_row + ", " + one_row))
            .ends_with("'size_bytes' is '1024'; expected a whole number, at least 1025"));
  CHECK(error_of(replaced(good, one_row, ""))
            .ends_with("there is no row; expected at least one in 'rows'"));
  CHECK(error_of(replaced(good, "channels", "chanels"))
            .find("unknown key 'chanels'; expected one of") != std::string::npos);
}

}  // namespace gradwire::calibration
