#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/core/uncertainty.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// A measured job by the doubts that its prediction's interval is made of.
struct DoubtedRow {
  std::size_t series = 0;
  double slower = 0;     ///< natural logarithm of the measured time over the predicted one
  RelativeError others;  ///< ends of the doubts that have no width of doubt_widths, together
  /// What each of doubt_widths is multiplied with.
  std::array<double, doubt_widths.size()> of{};
};

/// The scored rows that have doubts. @return `series` is the report's index.
[[nodiscard]] std::vector<DoubtedRow> doubted_rows(std::span<const SeriesReport> reports);

/// The interval of a time, relative to it.
[[nodiscard]] RelativeError ends_of(const DoubtedRow& row, const DoubtWidths& widths);
/// The measured time lies within it.
[[nodiscard]] bool holds(const DoubtedRow& row, const DoubtWidths& widths);

/// Widths of the least interval score (Gneiting and Raftery, Strictly Proper Scoring Rules, JASA
/// 102, 2007, section 6.2), of logarithms of times: 8 % of truths above and 2 % below, as jobs are
/// slower than predicted more often than faster; a miss counts up to a factor of two, so that a job
/// that went wrong widens nothing; each series counts with the root of its rows. Of widths within
/// 0.2 % of the least score the narrowest: what hardly matters is no doubt.
/// @return from 0 on, below 1 down and up to 3 (four times as long), in steps of a tenth.
[[nodiscard]] DoubtWidths fit_widths(std::span<const DoubtedRow> rows);

/// results/reference/intervals.md: what doubts.yaml has and what fit_widths finds, and how many
/// rows of each series lie within intervals by both and by the widths of all other series.
/// @param shipped  what the reports were made with
[[nodiscard]] std::string intervals_page(std::span<const SeriesReport> reports,
                                         const DoubtWidths& shipped);

}  // namespace gradwire::validation
