#include "calibration/import/bench_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/fit/least_squares.hpp"
#include "calibration/import/json_file.hpp"
#include "calibration/import/timed_calls.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

using config::YamlMap;
using config::YamlValue;

CopySeries read_copy_series(YamlMap& map) {
  static const std::vector<std::string> kinds = {"h2d", "d2h", "both", "d2d", "peer"};
  static const std::vector<std::string> memories = {"pinned", "pageable"};
  CopySeries series;
  series.kind = map.require_choice("kind", kinds);
  series.pinned = map.require_choice("memory", memories) == "pinned";
  series.gpus = map.list<int>("gpus", config::at_least(0));
  const std::size_t least = series.kind == "peer" ? 2 : 1;
  if (series.gpus.size() < least) {
    map.fail("gpus", fmt::format("'gpus' has {}; expected at least {} for '{}'", series.gpus.size(),
                                 least, series.kind));
  }
  series.copies_at_once = map.require<int>("copies_at_once", config::at_least(1));
  series.peer_access = map.value_or("peer_access", false);
  std::int64_t size_least = 1;
  for (YamlMap& row : map.maps("rows")) {
    const auto size =
        row.require<std::int64_t>("size_bytes", config::at_least<std::int64_t>(size_least));
    size_least = size + 1;
    const TimedCalls calls = read_timed_calls(row);
    if (!calls.pipelined) {
      row.fail("pipelined_us", "the row has no 'pipelined_us'; expected it");
    }
    series.rows.push_back({Bytes{size}, calls.p50, calls.p99, *calls.pipelined});
    row.finish();
  }
  if (series.rows.empty()) map.fail("rows", "there is no row; expected at least one in 'rows'");
  map.finish();
  return series;
}

}  // namespace

CopyBench read_bench_copies(const std::string& text, const std::string& file) {
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.bench.copies/1");
  static_cast<void>(map.value_or<std::string>("tool", ""));
  static_cast<void>(map.value_or<std::string>("date", ""));
  CopyBench bench;
  bench.node = map.value_or<std::string>("node", "");
  bench.gpu = map.value_or<std::string>("gpu", "");
  for (YamlMap& entry : map.maps("copies")) bench.series.push_back(read_copy_series(entry));
  if (bench.series.empty()) {
    map.fail("copies", "there is no copy; expected at least one in 'copies'");
  }
  map.finish();
  return bench;
}

CopyFit fit_copies(const CopySeries& series) {
  LeastSquares<2> squares;
  for (const CopyRow& row : series.rows) {
    const double time = row.pipelined.count();
    squares.add({1 / time, static_cast<double>(row.size.count()) / time}, 1);
  }
  const auto [weights, residual, used] = squares.non_negative();
  if (!(weights[1] > 0)) {
    throw SimulationError(
        fmt::format("times of '{}' copies do not grow with the size", series.kind));
  }
  CopyFit fit{Seconds{weights[0]}, BytesPerSecond{1 / weights[1]}, 0};
  for (const CopyRow& row : series.rows) {
    const Seconds fitted = fit.latency + row.size / fit.bandwidth;
    fit.error_max = std::max(fit.error_max, std::abs(fitted / row.pipelined - 1));
  }
  return fit;
}

}  // namespace gradwire::calibration
