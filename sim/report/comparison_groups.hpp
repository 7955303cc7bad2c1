#pragma once

#include <span>
#include <string>

#include "sim/report/comparison.hpp"

namespace gradwire {

/// Parts the ranked rows into groups, numbered from 1: one begins where the first of the group
/// before beats a row with significant_odds. Of all but the baseline tells how likely they beat it,
/// where it has a result. REQUIRES: ranks, best first.
void group_rows(std::span<ComparisonRow> rows, const std::string& baseline);

/// "93 %", rounded down: never surer than it is.
[[nodiscard]] std::string odds_text(double odds);

/// What the groups and the columns beside them mean, and which strategies are the fastest: none
/// that is not significantly faster is called so. Empty where fewer than two are ranked.
[[nodiscard]] std::string groups_text(std::span<const ComparisonRow> rows,
                                      const std::string& baseline);

}  // namespace gradwire
