#include "calibration/import/bench_copies.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"

namespace gradwire::calibration {
namespace {

std::string row(std::int64_t size, double time_us) {
  return fmt::format(
      R"({{"size_bytes": {}, "n": 50, "mean_us": {t}, "min_us": {t}, "p50_us": {t},
  "p95_us": {t}, "p99_us": {t}, "max_us": {t}, "pipelined_us": {}}})",
      size, time_us, fmt::arg("t", time_us + 1));
}

std::string file_of(const std::string& rows, const std::string& head =
                                                 R"("kind": "h2d", "memory": "pinned",
 "gpus": [0], "copies_at_once": 1, "peer_access": false)") {
  return R"({"schema": "gradwire.bench.copies/1", "tool": "gradwire-bench 0.1.0", "node": "n",
 "gpu": "g", "copies": [
{)" + head +
         R"(, "rows": [)" + rows + "]}]}";
}

std::string error_of(const std::string& text) {
  return gradwire::test::refusal_of([&] { return read_bench_copies(text, "copies.json"); });
}

}  // namespace

TEST_CASE("Copies are fitted by a latency and a bandwidth", "[import][bench][copies]") {
  // t = 3 us + size / 50 GB/s, so 65536 bytes take 3 + 1.31072 us.
  std::string rows;
  for (const std::int64_t size : {4096, 65536, 1 << 20, 1 << 28}) {
    rows += (rows.empty() ? "" : ", ") + row(size, 3 + static_cast<double>(size) / 50e3);
  }
  const CopyBench bench = read_bench_copies(file_of(rows), "copies.json");
  REQUIRE(bench.series.size() == 1);
  CHECK(bench.series[0].kind == "h2d");
  CHECK(bench.series[0].pinned);
  CHECK(bench.series[0].rows[1].p50.count() == Approx(4.31072e-6 + 1e-6));
  const CopyFit fit = fit_copies(bench.series[0]);
  CHECK(fit.latency.count() == Approx(3e-6).epsilon(1e-6));
  CHECK(fit.bandwidth.count() == Approx(50e9).epsilon(1e-6));
  CHECK(fit.error_max < 1e-6);
}

TEST_CASE("A fit of copies tells its largest error, and times that do not grow have none",
          "[import][bench][copies]") {
  // The line through (1, 1.5) and (3, 2.5) in units of 1e6 bytes and 100 us misses (2, 3) by far.
  const CopyBench bent = read_bench_copies(
      file_of(row(1'000'000, 150) + ", " + row(2'000'000, 300) + ", " + row(3'000'000, 250)), "f");
  CHECK(fit_copies(bent.series[0]).error_max > 0.2);
  const CopyBench flat =
      read_bench_copies(file_of(row(1000, 200) + ", " + row(1'000'000, 100)), "f");
  CHECK_THROWS_AS(fit_copies(flat.series[0]), SimulationError);
}

TEST_CASE("A file of copies that is not whole is refused at its place", "[import][bench][copies]") {
  CHECK(error_of(file_of("")) ==
        "copies.json:4:66: there is no row; expected at least one in 'rows'");
  CHECK(error_of(file_of(row(1000, 1) + ", " + row(1000, 2)))
            .ends_with("'size_bytes' is '1000'; expected a whole number, at least 1001"));
  CHECK(error_of(file_of(row(1000, 1), R"("kind": "h2h", "memory": "pinned", "gpus": [0],
 "copies_at_once": 1)")) ==
        "copies.json:3:10: 'kind' is 'h2h'; expected one of h2d, d2h, both, d2d, peer; did you "
        "mean 'h2d'?");
  CHECK(error_of(file_of(row(1000, 1), R"("kind": "peer", "memory": "pinned", "gpus": [0],
 "copies_at_once": 1)"))
            .ends_with("'gpus' has 1; expected at least 2 for 'peer'"));
}

}  // namespace gradwire::calibration
