#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// Parts (a) and (e): every row predicted from the cluster alone. Where the library cannot do the
/// collective, each row says why. REQUIRES: the table takes part in `part`.
[[nodiscard]] std::vector<Row> rows_alone(const config::MeasuredCollective& table,
                                          const std::string& part);

/// Part (b): every second size fitted, from the smallest on; the rows are the others.
/// REQUIRES: the table takes part in "b".
[[nodiscard]] std::vector<Row> rows_of_other_sizes(const config::MeasuredCollective& table);

/// Part (c): fitted to the tables whose role is calibrate; the rows are of all of them.
/// REQUIRES: all are of one family and take part in "c".
[[nodiscard]] std::vector<Row> rows_of_other_ranks(
    std::span<const config::MeasuredCollective* const> family);

/// Part (d): what the library takes and how long, beside what it printed itself.
[[nodiscard]] std::vector<Row> rows_of_choices(const config::MeasuredCollective& table);

}  // namespace gradwire::validation
