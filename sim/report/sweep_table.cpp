#include "sim/report/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "sim/report/part_columns.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

/// The figures of a table line; an error takes their place.
std::string line_of(const ResultRow& row, const PartColumns& parts) {
  if (!row.error.empty()) return "  " + row.error;
  const Json& r = row.result;
  const double mean = r["iteration_time_s"]["mean"].get<double>();
  return fmt::format("{:>8}{:>12.2f}{:>14.1f}{:>12.1f} %{}", r["world_size"].get<int>(), 1e3 * mean,
                     r["throughput_samples_per_s"].get<double>(),
                     100 * r["scaling_efficiency"].get<double>(), parts.line(r));
}

}  // namespace

std::string sweep_table(std::span<const ResultRow> rows) {
  std::string text;
  if (rows.empty()) return text;
  auto out = std::back_inserter(text);
  std::vector<std::size_t> widths;
  for (std::size_t a = 0; a < rows.front().axes.size(); ++a) {
    std::size_t width = rows.front().axes[a].first.size();
    for (const ResultRow& row : rows) width = std::max(width, row.axes[a].second.size());
    widths.push_back(width + (a == 0 ? 0 : 2));
    fmt::format_to(out, "{:>{}}", rows.front().axes[a].first, widths.back());
  }
  PartColumns parts;
  for (const ResultRow& row : rows) {
    if (row.error.empty()) parts.add(row.result);
  }
  fmt::format_to(out, "{:>8}{:>12}{:>14}{:>14}{}\n", "GPUs", "iter (ms)", "samples/s", "efficiency",
                 parts.head());
  for (const ResultRow& row : rows) {
    for (std::size_t a = 0; a < widths.size(); ++a) {
      fmt::format_to(out, "{:>{}}", row.axes[a].second, widths[a]);
    }
    text += line_of(row, parts) + '\n';
  }
  return text;
}

nlohmann::ordered_json sweep_json(std::span<const ResultRow> rows) {
  Json list = Json::array();
  for (const ResultRow& row : rows) {
    Json entry = row.error.empty() ? row.result : Json::object();
    std::string label;
    Json axes = Json::object();
    for (const auto& [key, value] : row.axes) {
      label += fmt::format("{}{}={}", label.empty() ? "" : ", ", key, value);
      axes[key] = value;
    }
    entry["label"] = label;
    entry["vary"] = axes;
    if (!row.error.empty()) entry["error"] = row.error;
    list.push_back(entry);
  }
  return {{"schema", results_schema}, {"gradwire_version", gradwire_version}, {"results", list}};
}

}  // namespace gradwire
