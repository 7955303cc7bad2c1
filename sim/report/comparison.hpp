#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// How many times as fast as another prediction of the same job, and between which bounds: what it
/// is with compute faster and slower, beside communication, by what either may be off. A profile
/// that is wrong is so for both, and one factor on all times changes no speed-up. What the model of
/// a strategy itself may be off is not in it (results/reference/training.md tells).
struct SpeedUp {
  double mean = 1;
  double low = 1;
  double high = 1;

  [[nodiscard]] nlohmann::ordered_json json() const;
};

/// What `why` begins with of a strategy that does not fit the GPUs' memory.
inline constexpr std::string_view no_fit = "does not fit";

/// What a strategy of a comparison counts as.
enum class Standing : std::uint8_t {
  ranked,
  bound,  ///< no communication: what the others can come to
  /// It does not fit the GPUs' memory, or coding whose time is not measured decides the result.
  not_comparable,
};

/// One strategy of a comparison.
struct ComparisonRow {
  std::string name;
  /// gradwire.result/1, and of a run with compute faster and slower by `compute_error` the mean
  /// iterations (`at_compute`: error, faster_s, slower_s); null where there is none
  nlohmann::ordered_json result;
  std::string error;                ///< why there is none, "" where there is one
  int rank = 0;                     ///< by throughput, from 1; 0 where it is not ranked
  std::optional<SpeedUp> speed_up;  ///< of its throughput over the baseline's, where both are there
  Standing standing = Standing::ranked;
  std::string why{};  ///< it is not comparable
  int group = 0;      ///< of ranked ones between which is no significant difference, from 1; else 0
  /// How likely it is faster than the baseline (odds_of_faster); of ranked ones that are not it.
  std::optional<double> beats_baseline{};

  [[nodiscard]] bool has_result() const { return error.empty(); }
};

/// Puts `none` first, as the bound; ranks the others by throughput, best first (equal ones by
/// name); behind them those that are not comparable: a rank's memory is more than its GPU has, or
/// an iteration with coding_factor times the coding that is not measured takes over 1.25 times one
/// with 1 / coding_factor (what the compute of a profile that is counted from the model may be
/// off). The baseline is ranked in any case.
/// Those without a result come last, in their order. Speed-ups are over the row named `baseline`,
/// where that has a result. Ranked ones are grouped (group_rows).
void rank_rows(std::vector<ComparisonRow>& rows, const std::string& baseline);

/// The ranked table under the bound, a blank line between groups, and what these mean; below it
/// what is not comparable and why, the warnings that some rows have and others not, and what cannot
/// run and why. REQUIRES: rank_rows.
[[nodiscard]] std::string comparison_table(std::span<const ComparisonRow> rows,
                                           const std::string& baseline);

/// gradwire.results/1: each result with its `label`, `standing`, `rank`, `group` and
/// `beats_baseline` (of the ranked), `why` (of those not comparable) and `speed_up`, or its
/// `error`.
[[nodiscard]] nlohmann::ordered_json comparison_json(std::span<const ComparisonRow> rows,
                                                     const std::string& baseline);

/// The rows for the CSV reporter.
[[nodiscard]] std::vector<ResultRow> comparison_rows(std::span<const ComparisonRow> rows);

/// A bar a strategy: its iteration, split into compute, exposed communication, copies and encoding,
/// waiting; a gap between groups; which are not exact. REQUIRES: rank_rows; at least one result.
[[nodiscard]] std::string comparison_svg(std::span<const ComparisonRow> rows,
                                         const std::string& baseline, const std::string& title);

}  // namespace gradwire
