#include "calibration/import/bench_operators.hpp"

#include <fmt/format.h>

#include <string>

#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

std::string row(const std::string& name, double forward, double backward) {
  return fmt::format(
      R"({{"operator": "{}", "dtype": "fp32", "memory_format": "contiguous", "forward_min_us": 1,
"forward_p50_us": {}, "backward_min_us": 1, "backward_p50_us": {}}})",
      name, forward, backward);
}

std::string times(const std::string& rows) {
  return R"({"schema": "gradwire.operator_times/1", "gpu": "g", "torch": "2", "rows": [)" + rows +
         "]}";
}

}  // namespace

TEST_CASE("A host's time is the geometric mean of its operators over an H200's host",
          "[import][bench]") {
  // linear takes 48.0 and 78.7 us there, and iterations ask for 0.914 of such chains
  const HostSpeed speed = read_bench_operators(
      times(row("linear", 2 * 48.0, 8 * 78.7) + "," + row("of our own", 1, 1)), "operators.json");
  CHECK(speed.operators == 2);
  CHECK(speed.chain == Approx(4));
  CHECK(speed.host_time == Approx(0.914 * 4));
}

TEST_CASE("Operator times that nothing is known of are refused with their place",
          "[import][bench]") {
  CHECK_THROWS_WITH(read_bench_operators(times(row("of our own", 1, 1)), "operators.json"),
                    Catch::ContainsSubstring("operators.json:1:") &&
                        Catch::ContainsSubstring("no row is of an operator"));
  CHECK_THROWS_WITH(read_bench_operators(times(R"({"operator": "linear"})"), "operators.json"),
                    Catch::ContainsSubstring("'dtype'"));
}

}  // namespace gradwire::calibration
