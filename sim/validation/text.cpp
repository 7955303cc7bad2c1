
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "sim/core/outgoing_text.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {
namespace {

std::size_t width_of(std::span<const Row> rows, std::string Row::*text, std::size_t least) {
  std::size_t width = least;
  for (const Row& row : rows) width = std::max(width, (row.*text).size());
  return width;
}

std::string mark(const Row& row) {
  if (!row.failure.empty()) return "no prediction: " + row.failure;
  if (!row.missed()) return "";
  return row.missing.empty() ? "missed" : "missed: " + row.missing;
}

/// Five digits, which is what measurements have.
std::string number(double value) {
  return plain_format("{:.5g}", value);
}

void append_group(std::string& text, std::span<const Row> rows) {
  auto out = std::back_inserter(text);
  plain_format_to(out, "{}\n", rows.front().group);
  const std::size_t labels = width_of(rows, &Row::label, 4);
  const std::size_t ways = width_of(rows, &Row::how, 0);
  plain_format_to(out, "  {:<{}}  {:>12}  {:>12}  {:>9}  {:<9}  {:<{}}\n", "row", labels,
                  "measured", "predicted", "error", "role", "", ways);
  for (const Row& row : rows) {
    std::string line;
    if (row.failure.empty()) {
      line = plain_format("  {:<{}}  {:>9} {:<2}  {:>9} {:<2}  {:+7.1f} %  {:<9}  {:<{}}  {}",
                          row.label, labels, number(row.measured), row.unit, number(row.predicted),
                          row.unit, 100 * row.error(), row.role, row.how, ways, mark(row));
    } else {
      line = plain_format("  {:<{}}  {:>9} {:<2}  {:>12}  {:>9}  {:<9}  {}", row.label, labels,
                          number(row.measured), row.unit, "-", "-", row.role, mark(row));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "\n";
}

void append_errors(std::string& text, const char* what, const Errors& errors) {
  if (errors.rows == 0) return;
  plain_format_to(std::back_inserter(text),
                  "  {:<11} {:>5} rows: mean {:.1f} %, median {:.1f} %, p90 {:.1f} %, worst {:.1f} "
                  "%; {} missed{}\n",
                  what, errors.rows, 100 * errors.mean, 100 * errors.median, 100 * errors.p90,
                  100 * errors.worst, errors.missed,
                  errors.failed == 0 ? "" : plain_format(", {} not predicted", errors.failed));
}

/// What a series without gates tells instead: the scored rows of each group by themselves, and all.
void append_groups(std::string& text, std::span<const Row> rows) {
  std::vector<std::string> groups;
  for (const Row& row : rows) {
    if (groups.empty() || groups.back() != row.group) groups.push_back(row.group);
  }
  const auto append = [&](const std::string& name, const Errors& errors) {
    plain_format_to(
        std::back_inserter(text),
        "  {:<{}} {:>5} rows: median {:>5.1f} %, p90 {:>5.1f} %, signed mean {:>+6.1f} %\n", name,
        width_of(rows, &Row::group, 3), errors.rows, 100 * errors.median, 100 * errors.p90,
        100 * errors.bias);
  };
  for (const std::string& group : groups) {
    append(group, errors_of(rows, [&](const Row& row) {
             return row.role == "score" && row.group == group;
           }));
  }
  append("all", errors_of(rows, "score"));
}

void append_gates(std::string& text, const std::vector<Gate>& gates) {
  std::size_t width = 0;
  for (const Gate& gate : gates) width = std::max(width, gate.name.size());
  for (const Gate& gate : gates) {
    const std::string figure = gate.known ? figure_text(gate.figure, gate.unit) : "not yet";
    plain_format_to(std::back_inserter(text), "  {:<{}}  {:>9}  ({} {:>7})  {}{}{}\n", gate.name,
                    width, figure, gate.least ? "at least" : "at most",
                    figure_text(gate.limit, gate.unit),
                    gate.met()   ? "met"
                    : gate.known ? "MISSED"
                                 : "-",
                    gate.note.empty() ? "" : "; ", gate.note);
  }
}

}  // namespace

std::string validation_text(const SeriesReport& report) {
  std::string text = plain_format("== {}: {}\n\n", report.name, report.summary);
  const std::span<const Row> rows = report.rows;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin + 1;
    while (end < rows.size() && rows[end].group == rows[begin].group) ++end;
    append_group(text, rows.subspan(begin, end - begin));
    begin = end;
  }
  plain_format_to(std::back_inserter(text), "-- {}: |error|\n", report.name);
  append_errors(text, "calibrated", errors_of(rows, "calibrate"));
  append_errors(text, "scored", errors_of(rows, "score"));
  append_errors(text, "shown", errors_of(rows, "show"));
  const Agreement agreement = rank_agreement(rows);
  if (agreement.pairs > 0) {
    plain_format_to(std::back_inserter(text), "  rank agreement: {} of {} pairs\n",
                    agreement.agreeing, agreement.pairs);
  }
  const Coverage coverage = coverage_of(rows);
  if (coverage.rows > 0) {
    plain_format_to(std::back_inserter(text),
                    "  inside the interval: {} of {} rows not fitted to (nine in ten are to be), "
                    "half its width {:.0f} %\n",
                    coverage.inside, coverage.rows, 100 * coverage.width);
  }
  if (report.gates.empty()) append_groups(text, rows);
  append_gates(text, report.gates);
  return text + "\n";
}

}  // namespace gradwire::validation
