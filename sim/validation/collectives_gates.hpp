#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// Says which gate of part "a" to "e" counts each row, and from where on the row itself misses.
/// Rows that are only shown get neither.
void give_limits(const config::MeasuredCollective& table, const std::string& part,
                 std::vector<Row>& rows);

/// What is claimed of the collectives, judged on their scored rows:
/// (a) from the cluster alone: median |error| at most 12 % from 8 MiB up and 35 % below 256 KiB,
///     within a factor 1.6 between; (b) fitted on every second size: mean 3 %, p90 8 % of the
///     others from 1 MiB up; (c) fitted at smaller rank counts: mean 8 %, worst 25 % at larger ones
///     from 1 MiB up; (d) NCCL's printed choices, all of them, and its times to 1 %; (e) Gloo's
///     all-reduce 3 % from 4 MiB, its other collectives 10 % from 1 MiB, Open MPI 12 %.
[[nodiscard]] std::vector<Gate> collective_gates(std::span<const Row> rows);

}  // namespace gradwire::validation
