#include "sim/report/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Row = CollectiveReport::Row;

constexpr std::int64_t element_size = 4;  ///< bytes; the table's type is float

/// nccl-tests prints seven characters: fewer digits as the time grows.
std::string microseconds(double seconds) {
  const double us = 1e6 * seconds;
  const int digits = us >= 10'000 ? 0 : us >= 100 ? 1 : 2;
  return plain_format("{:7.{}f}", us, digits);
}

/// nccl-tests begins with its devices; here the ranks of one machine share a line.
std::string head_text(const CollectiveReport& report) {
  std::string text = plain_format("# {} on {} ranks\n", name_of(report.kind), report.ranks);
  if (!report.devices.empty()) {
    text += "#\n# Using devices\n";
    std::istringstream lines(report.devices);
    std::string line;
    std::getline(lines, line);  // the number of ranks, reported above
    while (std::getline(lines, line)) text += "#" + line + "\n";
  }
  return text + "#\n";
}

/// Columns of the algorithm: nccl-tests has none, so this one may grow.
std::size_t algorithm_width(const CollectiveReport& report) {
  std::size_t width = std::string_view("algorithm").size();
  for (const Row& row : report.rows) width = std::max(width, row.algorithm.size());
  return width;
}

}  // namespace

double algorithm_bandwidth(const Row& row) {
  return row.seconds > 0 ? static_cast<double>(row.bytes) / row.seconds : 0;
}

double bus_bandwidth(const CollectiveReport& report, const Row& row) {
  return bus_factor(report.kind, report.ranks) * algorithm_bandwidth(row);
}

std::string nccl_table(const CollectiveReport& report) {
  const bool reduces = reduces_values(report.kind);
  const int root = has_root(report.kind) ? 0 : -1;
  std::string text = head_text(report);
  auto out = std::back_inserter(text);
  const std::size_t wide = algorithm_width(report);
  constexpr auto* head =
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>{}}  {:>8}  {:>6}  {:>9}\n";
  plain_format_to(out, fmt::runtime(head), "size", "count", "type", "redop", "root", "time",
                  "algbw", "busbw", "algorithm", wide, "protocol", "source", "bound");
  plain_format_to(out, fmt::runtime(head), "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
                  "(GB/s)", "", wide, "", "", "(us)");
  double bandwidth = 0;
  for (const Row& row : report.rows) {
    const double bus = bus_bandwidth(report, row);
    bandwidth += bus / static_cast<double>(report.rows.size());
    plain_format_to(
        out, "{:12}  {:12}  {:>8}  {:>6}  {:>6}  {}  {:6.2f}  {:6.2f}  {:>{}}  {:>8}  {:>6}  ",
        row.bytes, row.bytes / element_size, "float", reduces ? "sum" : "none", root,
        microseconds(row.seconds), 1e-9 * algorithm_bandwidth(row), 1e-9 * bus, row.algorithm, wide,
        row.protocol.empty() ? "-" : row.protocol, row.source);
    plain_format_to(out, "{:>9}\n", microseconds(row.bound_seconds));
  }
  plain_format_to(out, "# Avg bus bandwidth    : {:g}\n", 1e-9 * bandwidth);
  for (const Warning& warning : report.warnings) {
    plain_format_to(out, "# {}: {}\n", warning.code, warning.text);
  }
  return text;
}

nlohmann::ordered_json collective_json(const CollectiveReport& report) {
  auto rows = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    rows.push_back({{"bytes", row.bytes},
                    {"time_us", 1e6 * row.seconds},
                    {"algbw_GBs", 1e-9 * algorithm_bandwidth(row)},
                    {"busbw_GBs", 1e-9 * bus_bandwidth(report, row)},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol},
                    {"source", row.source},
                    {"bound_us", 1e6 * row.bound_seconds}});
  }
  auto warnings = nlohmann::ordered_json::array();
  for (const Warning& warning : report.warnings) {
    warnings.push_back({{"code", warning.code}, {"text", warning.text}});
  }
  return {{"schema", "gradwire.collective/1"},
          {"gradwire_version", gradwire_version},
          {"op", name_of(report.kind)},
          {"ranks", report.ranks},
          {"rows", rows},
          {"warnings", warnings}};
}

nlohmann::ordered_json collectives_json(std::span<const CollectiveReport> reports) {
  if (reports.size() == 1) return collective_json(reports.front());
  auto list = nlohmann::ordered_json::array();
  for (const CollectiveReport& report : reports) list.push_back(collective_json(report));
  return {{"schema", "gradwire.collectives/1"},
          {"gradwire_version", gradwire_version},
          {"collectives", list}};
}

}  // namespace gradwire
