#include "sim/report/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t efficiency_least = 14;  ///< characters

/// Over one GPU alone, or "80.0 % of 8" where one could not hold the job.
std::string efficiency_of(const Json& result) {
  if (result.value("one_gpu_fits", true)) {
    return plain_format("{:.1f} %", 100 * result["scaling_efficiency"].get<double>());
  }
  const auto over = result.find("efficiency_over");
  if (over == result.end()) return "-";
  return plain_format("{:.1f} % of {}", 100 * over->at("efficiency").get<double>(),
                      over->at("world_size").get<int>());
}

/// The figures of a table line; an error takes their place.
std::string line_of(const ResultRow& row, std::size_t efficiency_width, const PartColumns& parts,
                    const WorkColumns& work) {
  if (!row.error.empty()) return "  " + plain_line(row.error);
  const Json& r = row.result;
  const double mean = r["iteration_time_s"]["mean"].get<double>();
  return plain_format("{:>8}{:>12.2f}{:>14.1f}{:>{}}{}{}", r["world_size"].get<int>(), 1e3 * mean,
                      r["throughput_samples_per_s"].get<double>(), efficiency_of(r),
                      efficiency_width, work.line(r), parts.line(r));
}

Json entry_of(const ResultRow& row) {
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
  return entry;
}

}  // namespace

std::string sweep_table(const ResultRows& rows) {
  std::string text;
  if (rows.empty()) return text;
  auto out = std::back_inserter(text);
  const ResultRow first = rows[0];
  std::vector<std::size_t> widths;
  for (const auto& [key, value] : first.axes) widths.push_back(key.size());
  PartColumns parts;
  WorkColumns work;
  std::size_t efficiency_width = efficiency_least;
  for (const ResultRow& row : rows) {
    for (std::size_t a = 0; a < widths.size(); ++a) {
      widths[a] = std::max(widths[a], row.axes[a].second.size());
    }
    if (!row.error.empty()) continue;
    parts.add(row.result);
    work.add(row.result);
    efficiency_width = std::max(efficiency_width, efficiency_of(row.result).size() + 2);
  }
  for (std::size_t a = 0; a < widths.size(); ++a) {
    if (a > 0) widths[a] += 2;
    plain_format_to(out, "{:>{}}", first.axes[a].first, widths[a]);
  }
  plain_format_to(out, "{:>8}{:>12}{:>14}{:>{}}{}{}\n", "GPUs", "iter (ms)", "samples/s",
                  "efficiency", efficiency_width, work.head(), parts.head());
  for (const ResultRow& row : rows) {
    for (std::size_t a = 0; a < widths.size(); ++a) {
      plain_format_to(out, "{:>{}}", row.axes[a].second, widths[a]);
    }
    text += line_of(row, efficiency_width, parts, work) + '\n';
  }
  return text;
}

nlohmann::ordered_json sweep_json(const ResultRows& rows) {
  Json list = Json::array();
  for (const ResultRow& row : rows) list.push_back(entry_of(row));
  return {{"schema", results_schema}, {"gradwire_version", gradwire_version}, {"results", list}};
}

std::string sweep_json_text(const ResultRows& rows) {
  // The file's text around an array that is empty yet, and each entry moved to its depth: within a
  // string no line ends.
  const std::string whole = sweep_json(std::span<const ResultRow>()).dump(2);
  const std::string_view empty_list = "[]";
  const std::size_t place = whole.rfind(empty_list);
  std::string text = whole.substr(0, place);
  std::string_view before = "[";
  for (const ResultRow& row : rows) {
    text += before;
    before = ",";
    text += "\n    ";
    for (const char c : entry_of(row).dump(2)) {
      text += c;
      if (c == '\n') text += "    ";
    }
  }
  text += rows.empty() ? empty_list : "\n  ]";
  text += std::string_view(whole).substr(place + empty_list.size());
  return text + '\n';
}

}  // namespace gradwire
