#include "calibration/import/bench_overlap.hpp"

#include <string>

#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

const std::string two_kinds =
    R"({"schema": "gradwire.bench.overlap/1", "tool": "gradwire-bench 0.1.0", "node": "n",
 "gpu": "g", "multiprocessors": 132, "communication": "stand-in copy", "kinds": [
{"kind": "linear", "work": "GEMM", "rows": [
{"ctas": 4, "n": 20, "compute_alone_us": 100, "compute_overlapped_us": 104,
 "communication_alone_bytes_per_s": 1e11, "communication_overlapped_bytes_per_s": 8e10},
{"ctas": 16, "n": 20, "compute_alone_us": 100, "compute_overlapped_us": 116,
 "communication_alone_bytes_per_s": 4e11, "communication_overlapped_bytes_per_s": 2e11}]},
{"kind": "act", "rows": [
{"ctas": 8, "n": 20, "compute_alone_us": 100, "compute_overlapped_us": 99,
 "communication_alone_bytes_per_s": 1e11, "communication_overlapped_bytes_per_s": 1e11}]}]})";

}  // namespace

TEST_CASE("Slowdowns are ratios to what runs alone", "[import][bench][overlap]") {
  const OverlapBench bench = read_bench_overlap(two_kinds, "overlap.json");
  REQUIRE(bench.series.size() == 2);
  CHECK(bench.series[0].rows[0].compute == Approx(1.04));
  CHECK(bench.series[0].rows[0].communication == Approx(1e11 / 8e10));
  CHECK(bench.series[0].rows[1].communication == Approx(2.0));
}

TEST_CASE("A profile's overlap factors are interpolated over blocks and at least 1",
          "[import][bench][overlap]") {
  const OverlapBench bench = read_bench_overlap(two_kinds, "overlap.json");
  // Between 4 and 16 blocks: 1.04 + (10 - 4) / 12 * 0.12.
  CHECK(overlap_factors(bench, 10).at("linear") == Approx(1.10));
  CHECK(overlap_factors(bench, 1).at("linear") == Approx(1.04));
  CHECK(overlap_factors(bench, 4).at("linear") == Approx(1.04));
  CHECK(overlap_factors(bench, 99).at("linear") == Approx(1.16));
  CHECK(overlap_factors(bench, 8).at("act") == 1.0);
  CHECK(overlap_factors(bench, 8).at("add") == 1.0);
  CHECK(overlap_factors(bench, 8).count("conv3") == 0);  // not measured: no factor
}

TEST_CASE("A file of overlaps is refused at the place of what is wrong",
          "[import][bench][overlap]") {
  std::string bad = two_kinds;
  bad.replace(bad.find("\"act\""), 5, "\"atc\"");
  CHECK_THROWS_WITH(read_bench_overlap(bad, "overlap.json"),
                    "overlap.json:8:10: 'kind' is 'atc'; expected one of linear, conv1, conv3, "
                    "norm, act; did you mean 'act'?");
  CHECK_THROWS_WITH(read_bench_overlap(R"({"schema": "gradwire.bench.copies/1"})", "overlap.json"),
                    "overlap.json:1:12: 'schema' is 'gradwire.bench.copies/1'; expected "
                    "gradwire.bench.overlap/1; did you mean 'gradwire.bench.overlap/1'?");
}

}  // namespace gradwire::calibration
