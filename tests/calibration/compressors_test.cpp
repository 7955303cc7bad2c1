#include "calibration/import/compressors.hpp"

#include <string>

#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

std::string times(const std::string& pipelined) {
  return R"({"n": 20, "mean_us": 30, "min_us": 20, "p50_us": 30, "p95_us": 40, "p99_us": 40,
 "max_us": 41, "pipelined_us": )" +
         pipelined + "}";
}

std::string record(const std::string& bandwidth) {
  return R"({"schema": "gradwire.bench.compressors/1", "tool": "gradwire-bench 0.1.0",
 "date": "2026-11-20", "node": "gpu01", "gpu": "NVIDIA \"H200\"", "device": "gpu",
 "implementation": "kernels", "memory_bandwidth_bytes_per_s": )" +
         bandwidth + R"(, "tables": [
{"compressor": "topk", "settings": "density 0.1 %", "rows": [
{"elements": 65536, "encode": )" +
         times("25.5") + R"(, "decode": )" + times("12") + R"(},
{"elements": 131072, "encode": )" +
         times("26.25") + R"(, "decode": )" + times("13") + "}]}]}";
}

}  // namespace

TEST_CASE("Recorded compressors become a file that the simulator reads",
          "[import][bench][compressors]") {
  const CompressorBench bench = read_bench_compressors(record("4.8e12"), "compressors.json");
  REQUIRE(bench.series.size() == 1);
  CHECK(bench.series[0].rows[1].decode.count() == Approx(13e-6));
  const auto tables = config::read_compressor_costs(
      config::parse_yaml(write_compressor_costs(bench), "written.yaml"));
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].compressor == "topk");
  CHECK(tables[0].device == CodecDevice::gpu);
  CHECK(tables[0].memory_bandwidth.count() == Approx(4.8e12));
  REQUIRE(tables[0].rows.size() == 2);
  CHECK(tables[0].rows[0].elements == 65536);
  CHECK(tables[0].rows[0].encode.count() == Approx(25.5e-6));
  CHECK(tables[0].rows[1].encode.count() == Approx(26.25e-6));
}

TEST_CASE("A GPU's times need its memory bandwidth, which scales them to others",
          "[import][bench][compressors]") {
  const CompressorBench bench = read_bench_compressors(record("null"), "compressors.json");
  CHECK_THROWS_AS(write_compressor_costs(bench), SimulationError);
  const auto tables = config::read_compressor_costs(
      config::parse_yaml(write_compressor_costs(bench, BytesPerSecond{2e12}), "written.yaml"));
  CHECK(tables.at(0).memory_bandwidth.count() == Approx(2e12));
}

TEST_CASE("A file of compressors is refused at the place of what is wrong",
          "[import][bench][compressors]") {
  std::string bad = record("4.8e12");
  bad.replace(bad.find("topk"), 4, "tokp");
  CHECK_THROWS_WITH(read_bench_compressors(bad, "c.json"),
                    Catch::Matchers::StartsWith("c.json:4:16: 'compressor' is 'tokp'; expected "
                                                "one of fp16, "));
  bad = record("4.8e12");
  bad.replace(bad.find("pipelined_us"), 12, "pipelined_ms");
  CHECK_THROWS_WITH(read_bench_compressors(bad, "c.json"),
                    Catch::Matchers::EndsWith("there is no 'pipelined_us'; expected it"));
}

}  // namespace gradwire::calibration
