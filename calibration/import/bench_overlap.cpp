#include "calibration/import/bench_overlap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "calibration/import/json_file.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::calibration {
namespace {

using config::YamlMap;
using config::YamlValue;

OverlapSeries read_overlap_series(YamlMap& map) {
  static const std::vector<std::string> kinds = {"linear", "conv1", "conv3", "norm", "act"};
  OverlapSeries series;
  series.kind = map.require_choice("kind", kinds);
  static_cast<void>(map.value_or<std::string>("work", ""));  // for readers
  int least = 1;
  for (YamlMap& row : map.maps("rows")) {
    const auto ctas = row.require<int>("ctas", config::at_least(least));
    least = ctas + 1;
    static_cast<void>(row.require<std::int64_t>("n", config::at_least<std::int64_t>(1)));
    const auto alone = row.require<double>("compute_alone_us", config::above(0.0));
    const auto overlapped = row.require<double>("compute_overlapped_us", config::above(0.0));
    const auto rate_alone =
        row.require<double>("communication_alone_bytes_per_s", config::above(0.0));
    const auto rate_overlapped =
        row.require<double>("communication_overlapped_bytes_per_s", config::above(0.0));
    row.finish();
    series.rows.push_back({ctas, overlapped / alone, rate_alone / rate_overlapped});
  }
  if (series.rows.empty()) map.fail("rows", "there is no row; expected at least one in 'rows'");
  map.finish();
  return series;
}

double compute_factor(const std::vector<OverlapRow>& rows, int ctas) {
  const auto above = std::ranges::lower_bound(rows, ctas, {}, &OverlapRow::ctas);
  double factor = 0;
  if (above == rows.end()) {
    factor = rows.back().compute;
  } else if (above == rows.begin()) {
    factor = above->compute;
  } else {
    const OverlapRow& below = *std::prev(above);
    const double share =
        static_cast<double>(ctas - below.ctas) / static_cast<double>(above->ctas - below.ctas);
    factor = below.compute + share * (above->compute - below.compute);
  }
  return std::max(factor, 1.0);
}

}  // namespace

OverlapBench read_bench_overlap(const std::string& text, const std::string& file) {
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.bench.overlap/1");
  static_cast<void>(map.value_or<std::string>("tool", ""));
  static_cast<void>(map.value_or<std::string>("date", ""));
  static_cast<void>(map.value_or("multiprocessors", 0, config::at_least(1)));
  OverlapBench bench;
  bench.node = map.value_or<std::string>("node", "");
  bench.gpu = map.value_or<std::string>("gpu", "");
  bench.communication = map.require<std::string>("communication");
  for (YamlMap& entry : map.maps("kinds")) bench.series.push_back(read_overlap_series(entry));
  if (bench.series.empty()) map.fail("kinds", "there is no kind; expected at least one in 'kinds'");
  map.finish();
  return bench;
}

std::map<std::string, double> overlap_factors(const OverlapBench& bench, int ctas) {
  static const std::vector<std::pair<std::string, std::string>> alike = {
      {"conv7", "conv3"}, {"grouped_conv", "conv3"}, {"add", "act"}, {"pool", "act"}};
  std::map<std::string, double> factors;
  for (const OverlapSeries& series : bench.series) {
    factors[series.kind] = compute_factor(series.rows, ctas);
  }
  for (const auto& [kind, measured] : alike) {
    const auto known = factors.find(measured);
    if (known != factors.end()) factors[kind] = known->second;
  }
  return factors;
}

}  // namespace gradwire::calibration
