#include "sim/validation/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "sim/core/outgoing_text.hpp"

namespace gradwire::validation {
namespace {

constexpr std::string_view training_introduction =
    R"(# Training jobs: predicted and measured

Made by `gradwire validate --write results/reference`. Measurements, their sources, set-ups, what was
calibrated on what, and what was left out: one file a series beside this page.

- *calibrate*: compute is set so that one GPU alone does what was measured; where a series says so,
  constants of the machines are fitted to these rows. They are in no gate's figure.
- *score*: predicted. No constant is fitted to one of these rows.
- *show*: predicted, under no gate.

Error: predicted over measured, less one. A scored row misses beyond its gate's p90, or beyond twice
its gate's median where there is no p90. Ranks: pairs of ways to train on the same machines whose
measurements differ by more than 5 %, and how many of them are predicted in that order. Inside: scored
and shown rows that lie in the prediction's own interval, which is to hold nine in ten, and half its width.
Said: how likely `gradwire compare` calls the one of two ways that it predicts to be the faster one (all pairs,
however little they differ); true: how often it was measured to be.

)";

std::string signed_percent(double value) {
  return fmt::format("{:.1f} %", 100 * value);
}

std::string coverage_text(const Coverage& coverage) {
  if (coverage.rows == 0) return "";
  return fmt::format("{} of {}, {:.0f} %", coverage.inside, coverage.rows, 100 * coverage.width);
}

void append_report(std::string& text, const SeriesReport& report) {
  const Errors calibrated = errors_of(report.rows, "calibrate");
  const Errors scored = errors_of(report.rows, "score");
  const Agreement ranks = rank_agreement(report.rows);
  const auto missed = std::ranges::count_if(report.gates, [](const Gate& g) { return !g.met(); });
  text += fmt::format(
      "| [{0}](#{0}) | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} of {9} | {11} | {10} |\n",
      markdown_name(report.name), calibrated.rows, signed_percent(calibrated.median), scored.rows,
      signed_percent(scored.median), signed_percent(scored.p90), signed_percent(scored.worst),
      calibrated.failed + scored.failed, ranks.agreeing, ranks.pairs,
      missed == 0 ? "met" : fmt::format("**{} missed**", missed),
      coverage_text(coverage_of(report.rows)));
}

void append_training_gates(std::string& text, const std::vector<Gate>& gates) {
  text += "| gate | figure | limit | | |\n| --- | --: | --: | --- | --- |\n";
  for (const Gate& gate : gates) {
    text += fmt::format("| {} | {} | {} {} | {} | {} |\n", markdown_prose(gate.name),
                        gate.known ? figure_text(gate.figure, gate.unit) : "not yet",
                        gate.least ? "at least" : "at most", figure_text(gate.limit, gate.unit),
                        gate.met() ? "met" : "**missed**", markdown_prose(gate.note));
  }
  text += "\n";
}

void append_odds(std::string& text, std::span<const SeriesReport> reports) {
  text += "| said | pairs | mean | true |\n| --- | --: | --: | --: |\n";
  for (const SaidOdds& range : said_odds(reports)) {
    if (range.pairs == 0) continue;
    text += fmt::format("| {:.0f} to {:.0f} % | {} | {:.0f} % | {:.0f} % |\n", 100 * range.low,
                        100 * range.high, range.pairs, 100 * range.said,
                        100 * static_cast<double>(range.right) / static_cast<double>(range.pairs));
  }
  text += "\n";
}

/// What the fits of each group gave; a constant counts for the rows that tell it.
void append_fits(std::string& text, const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    if (row.how.empty()) continue;
    std::string line = fmt::format("- {}: {}", markdown_prose(row.group), markdown_prose(row.how));
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return;
  text += "Fitted to the calibration rows:\n\n";
  for (const std::string& line : lines) text += line + "\n";
  text += "\n";
}

void append_misses(std::string& text, const std::vector<Row>& rows) {
  std::map<std::string, std::size_t> mechanisms;
  for (const Row& row : rows) {
    if (row.role != "score" || !row.missed()) continue;
    const std::string why = !row.failure.empty()  ? "no prediction: " + row.failure
                            : row.missing.empty() ? "no mechanism is suspected yet"
                                                  : row.missing;
    ++mechanisms[why];
  }
  if (mechanisms.empty()) return;
  text += "Scored rows that miss, and what is suspected:\n\n";
  for (const auto& [why, count] : mechanisms) {
    text += fmt::format("- {} rows: {}\n", count, markdown_prose(why));
  }
  text += "\n";
}

void append_rows(std::string& text, const std::vector<Row>& rows) {
  std::string group;
  for (const Row& row : rows) {
    if (row.group != group) {
      group = row.group;
      text += fmt::format(
          "\n### {}\n\n| row | measured {} | predicted | error | role | |\n"
          "| --- | --: | --: | --: | --- | --- |\n",
          markdown_prose(group), row.unit);
    }
    const std::string spread =
        row.spread > 0 ? fmt::format(" ({:.1f} %)", 100 * row.spread) : std::string();
    if (row.failure.empty()) {
      text += fmt::format("| {} | {:.5g}{} | {:.5g} | {:+.1f} % | {} | {} |\n",
                          markdown_prose(row.label), row.measured, spread, row.predicted,
                          100 * row.error(), row.role, row.missed() ? "misses" : "");
    } else {
      text += fmt::format("| {} | {:.5g}{} | | | {} | no prediction |\n", markdown_prose(row.label),
                          row.measured, spread, row.role);
    }
  }
  text += "\n";
}

}  // namespace

std::string training_head(std::span<const SeriesReport> reports, const SeriesReport& total) {
  std::string text(training_introduction);
  append_training_gates(text, total.gates);
  append_odds(text, reports);
  text +=
      "| series | calibrated rows | median | scored rows | median | p90 | worst | not predicted | "
      "ranks | inside | gates |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- "
      "|\n";
  for (const SeriesReport& report : reports) append_report(text, report);
  return text + "\n";
}

std::string training_section(const TrainingFile& file, const SeriesReport& report) {
  std::string text =
      fmt::format("## {}\n\n{}.\n\n", markdown_name(file.name), markdown_prose(report.summary));
  for (const auto& [key, written] : file.source) {
    text += fmt::format("- {}: {}\n", markdown_prose(key), markdown_prose(written));
  }
  text += "\n";
  append_training_gates(text, report.gates);
  append_fits(text, report.rows);
  append_misses(text, report.rows);
  append_rows(text, report.rows);
  if (!file.skipped.empty()) {
    text +=
        fmt::format("{} measured rows are left out; the file says why.\n\n", file.skipped.size());
  }
  return text;
}

}  // namespace gradwire::validation
