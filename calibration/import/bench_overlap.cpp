#include "calibration/import/bench_overlap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "calibration/import/json_document.hpp"

namespace gradwire::calibration {
namespace {

OverlapSeries read_series(const JsonValue& value) {
  static const std::vector<std::string> kinds = {"linear", "conv1", "conv3", "norm", "act"};
  JsonMap map(value, "an entry of 'kinds'");
  OverlapSeries series;
  series.kind = map.require_choice("kind", kinds);
  static_cast<void>(map.text_or("work", ""));  // for readers
  std::int64_t least = 1;
  for (const JsonValue& entry : map.list("rows")) {
    JsonMap row(entry, "a row");
    const std::int64_t ctas = row.require_whole("ctas", least, std::numeric_limits<int>::max());
    least = ctas + 1;
    static_cast<void>(row.require_whole("n", 1));
    const double alone = row.require_above("compute_alone_us", 0);
    const double overlapped = row.require_above("compute_overlapped_us", 0);
    const double rate_alone = row.require_above("communication_alone_bytes_per_s", 0);
    const double rate_overlapped = row.require_above("communication_overlapped_bytes_per_s", 0);
    row.finish();
    series.rows.push_back(
        {static_cast<int>(ctas), overlapped / alone, rate_alone / rate_overlapped});
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
  const JsonValue document = parse_json(text, file);
  JsonMap map(document);
  map.require_schema("gradwire.bench.overlap/1");
  static_cast<void>(map.text_or("tool", ""));
  static_cast<void>(map.text_or("date", ""));
  static_cast<void>(map.whole_or("multiprocessors", 0, 1));
  OverlapBench bench;
  bench.node = map.text_or("node", "");
  bench.gpu = map.text_or("gpu", "");
  bench.communication = map.require_text("communication");
  for (const JsonValue& entry : map.list("kinds")) bench.series.push_back(read_series(entry));
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
