#include "sim/validation/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire::validation {
namespace {

using config::MeasuredCollective;
using Rows = std::span<const Row>;

constexpr double kibibyte = 1024;
constexpr double mebibyte = 1024 * kibibyte;

constexpr std::string_view collectives_introduction =
    R"(# Collectives: predicted and measured

Made by `gradwire validate collectives --write results/reference`; a test makes it again and compares.
Measurements, their sources, how each table takes part, and what was left out: `collectives.yaml`.

- (a) predicted from the cluster's description alone: links, NICs, library and its version; no table.
- (b) fitted on every second size, predicted on the others.
- (c) fitted at the smaller numbers of ranks or nodes, predicted at the larger.
- (d) what NCCL 2.12 printed that it would take, and how long.
- (e) Gloo and Open MPI over TCP.

Error: predicted time over measured time, less one. Rows marked *calibrate* are those that constants
were fitted to; they are in no gate's figure. Rows marked *show* are under no gate.

)";

/// What is published of others on the same kind of table.
constexpr std::string_view peers = R"(## What others reach

All-reduce against nccl-tests, on the same kind of tables: figures that are published, and what we
measured with the peers' own programs. Data-sheet links compare with (a); hand-set or fitted links had
the very tables in view, which neither (a) nor the held-out rows of (b) and (c) have.

| tool | tables | mean | worst | source |
| --- | --- | --: | --: | --- |
| ASTRA-sim 2, links fitted by hand, NCCL forced to ring | V100 NVLink, 2 / 4 / 8 GPUs | 11.4 / 7.9 / 2.8 % (geometric) | | astra-sim-docs, validation/hardware |
| ASTRA-sim 2, the same | HGX H100, 2 / 4 / 8 GPUs | 20.6 / 12.0 / 9.7 % (geometric) | | astra-sim-docs, validation/hardware |
| ASTRA-sim 2, data-sheet links | vTrain A100, 2 / 4 / 8 GPUs | 45.8 / 37.4 / 34.2 % | 81.4 / 65.1 / 62.4 % | run by us, 11 sizes |
| ASTRA-sim 2, latency and bandwidth fitted | vTrain A100, 2 / 4 / 8 GPUs | 4.9 / 5.7 / 6.0 % | 9.7 / 13.8 / 21.5 % | run by us, 11 sizes |
| ASTRA-sim 2, data-sheet links | vTrain V100, 2 / 4 / 8 GPUs | 82.6 / 45.9 / 21.8 % | 82.7 / 65.2 / 48.6 % | run by us, 11 sizes |
| ASTRA-sim 2, latency and bandwidth fitted | vTrain V100, 2 / 4 / 8 GPUs | 0.2 / 4.3 / 6.1 % | 0.7 / 13.9 / 26.5 % | run by us, 11 sizes |

)";

std::string page_percent(double value) {
  return fmt::format("{:.1f} %", 100 * value);
}

std::string signed_percent(double value) {
  return fmt::format("{:+.1f} %", 100 * value);
}

/// Rows of one group, which stand together.
std::vector<Rows> groups_of(Rows rows) {
  std::vector<Rows> groups;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin + 1;
    while (end < rows.size() && rows[end].group == rows[begin].group) ++end;
    groups.push_back(rows.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

const MeasuredCollective* table_of(const config::CollectiveMeasurements& measured, Rows group) {
  for (const auto* list : {&measured.tables, &measured.choices}) {
    for (const MeasuredCollective& table : *list) {
      if (group.front().group.ends_with(" " + table.id)) return &table;
    }
  }
  return nullptr;
}

std::string gates_text(const std::vector<Gate>& gates) {
  std::string text = "## Gates\n\n| gate | figure | limit | | |\n| --- | --: | --: | --- | --- |\n";
  for (const Gate& gate : gates) {
    text += fmt::format("| {} | {} | {} {} | {} | {} |\n", markdown_prose(gate.name),
                        gate.known ? figure_text(gate.figure, gate.unit) : "not yet",
                        gate.least ? "at least" : "at most", figure_text(gate.limit, gate.unit),
                        gate.met()   ? "met"
                        : gate.known ? "**missed**"
                                     : "",
                        markdown_prose(gate.note));
  }
  return text + "\n";
}

/// How far the times of a table are from the line between their neighbours (log-log), the median:
/// what no smooth prediction can follow. For two rows or less "".
std::string own_noise(const MeasuredSeries& series) {
  std::vector<double> distances;
  for (std::size_t i = 1; i + 1 < series.rows.size(); ++i) {
    const auto place = [&](std::size_t row) {
      return std::log(static_cast<double>(series.rows[row].size.count()));
    };
    const auto height = [&](std::size_t row) { return std::log(series.rows[row].time.count()); };
    const double share = (place(i) - place(i - 1)) / (place(i + 1) - place(i - 1));
    const double between = height(i - 1) + share * (height(i + 1) - height(i - 1));
    distances.push_back(std::abs(std::exp(height(i) - between) - 1));
  }
  return distances.empty() ? "" : page_percent(median(distances));
}

/// The strictest role of a group's rows; some of a scored table may have been fitted to.
std::string role_of(Rows group) {
  for (const char* role : {"score", "show"}) {
    if (std::ranges::find(group, role, &Row::role) != group.end()) return role;
  }
  return "calibrate";
}

/// Median |error| of the predicted rows of a group in [from, below).
std::string median_between(Rows group, double from, double below) {
  const Errors errors = errors_of(group, [&](const Row& row) {
    return row.role != "calibrate" && row.bytes >= from && row.bytes < below;
  });
  return errors.rows == errors.failed ? "" : page_percent(errors.median);
}

std::string tables_text(const config::CollectiveMeasurements& measured, Rows rows) {
  std::string text =
      "## A line a table\n\nMedian error by size, without the rows that were fitted to. *Own "
      "noise*: how far a "
      "measured\ntime is from the line between its neighbours in log-log, the median; no smooth "
      "prediction follows that.\n\n"
      "| table | hardware | library | below 256 KiB | to 8 MiB | from 8 MiB | worst | own noise | "
      "role |\n| --- | --- | --- | --: | --: | --: | --: | --: | --- |\n";
  for (const Rows group : groups_of(rows)) {
    const MeasuredCollective* table = table_of(measured, group);
    if (table == nullptr) continue;
    const Errors all = errors_of(group, [](const Row& row) { return row.role != "calibrate"; });
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", markdown_prose(group.front().group),
        markdown_prose(table->hardware),
        markdown_prose(table->version.empty() ? table->library_name
                                              : table->library_name + " " + table->version),
        median_between(group, 0, 256 * kibibyte),
        median_between(group, 256 * kibibyte, 8 * mebibyte),
        median_between(group, 8 * mebibyte, 1e300),
        all.rows == all.failed ? "" : page_percent(all.worst), own_noise(table->series),
        role_of(group));
  }
  return text + "\n";
}

/// The rows of each group that miss, with the mechanism thought to be missing.
std::string misses_text(const config::CollectiveMeasurements& measured, Rows rows) {
  std::string text =
      "## What misses, and what is thought to be missing\n\nA row misses where it exceeds its "
      "gate's "
      "limit by itself, though the gate may ask for a median only.\n\n"
      "| table | rows that miss | sizes | worst | thought to be missing |\n"
      "| --- | --: | --- | --: | --- |\n";
  for (const Rows group : groups_of(rows)) {
    std::vector<const Row*> missed;
    for (const Row& row : group) {
      if (row.missed() && row.role != "show") missed.push_back(&row);
    }
    if (missed.empty()) continue;
    const auto worst = std::ranges::max_element(missed, {}, [](const Row* row) {
      return row->failure.empty() ? std::abs(row->error()) : 0;
    });
    const MeasuredCollective* table = table_of(measured, group);
    const std::string why = !missed.front()->failure.empty()              ? missed.front()->failure
                            : table != nullptr && !table->missing.empty() ? table->missing
                                                                          : "not known";
    text += fmt::format(
        "| {} | {} of {} | {} to {} | {} | {} |\n", markdown_prose(group.front().group),
        missed.size(), group.size(), missed.front()->label, missed.back()->label,
        (*worst)->failure.empty() ? signed_percent((*worst)->error()) : "", markdown_prose(why));
  }
  return text + "\n";
}

std::string rows_text(const config::CollectiveMeasurements& measured, Rows rows) {
  std::string text = "## Every row\n";
  for (const Rows group : groups_of(rows)) {
    const MeasuredCollective* table = table_of(measured, group);
    text += fmt::format("\n### {}\n\n", markdown_prose(group.front().group));
    if (table != nullptr) {
      text += fmt::format("{} ranks: {}. {}{}. Source: {}.\n\n", table->series.ranks,
                          markdown_prose(table->hardware), markdown_prose(table->note),
                          table->note.empty() ? "No note" : "", markdown_prose(table->source));
    }
    const bool spreads = std::ranges::any_of(group, [](const Row& row) { return row.spread > 0; });
    text += fmt::format("| size | measured | predicted | error | by | role |{}\n",
                        spreads ? " repeats |" : "");
    text += fmt::format("| --: | --: | --: | --: | --- | --- |{}\n", spreads ? " --: |" : "");
    for (const Row& row : group) {
      const bool done = row.failure.empty();
      text += fmt::format("| {} | {:.5g} {} | {} | {}{} | {} | {} |", row.label, row.measured,
                          row.unit, done ? fmt::format("{:.5g} {}", row.predicted, row.unit) : "-",
                          done ? signed_percent(row.error()) : "-",
                          row.missed() && row.role != "show" ? " (missed)" : "",
                          markdown_prose(row.how), row.role);
      text += fmt::format("{}\n", spreads ? fmt::format(" {} |", page_percent(row.spread)) : "");
    }
  }
  return text;
}

}  // namespace

std::string collectives_page(const config::CollectiveMeasurements& measured,
                             const SeriesReport& report) {
  return std::string(collectives_introduction) + gates_text(report.gates) + std::string(peers) +
         tables_text(measured, report.rows) + misses_text(measured, report.rows) +
         rows_text(measured, report.rows);
}

}  // namespace gradwire::validation
