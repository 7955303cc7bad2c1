#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// A readable table, one line a row in their order; failed rows carry their error.
/// REQUIRES: all rows have the same axes.
[[nodiscard]] std::string sweep_table(const ResultRows& rows);

/// The same rows as gradwire.results/1; each has `vary` (its axes) and failed ones have `error`.
[[nodiscard]] nlohmann::ordered_json sweep_json(const ResultRows& rows);

/// That JSON's text, indented by 2, with one row of it in memory at a time.
[[nodiscard]] std::string sweep_json_text(const ResultRows& rows);

}  // namespace gradwire
