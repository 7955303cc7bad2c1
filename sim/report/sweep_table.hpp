#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// A readable table, one line a row in their order; failed rows carry their error.
/// REQUIRES: all rows have the same axes.
[[nodiscard]] std::string sweep_table(std::span<const ResultRow> rows);

/// The same rows as gradwire.results/1; each has `vary` (its axes) and failed ones have `error`.
[[nodiscard]] nlohmann::ordered_json sweep_json(std::span<const ResultRow> rows);

}  // namespace gradwire
