#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// The table that ddl-benchmarks' plots.py writes into README.md: a line for each network, model
/// and method, a column for each number of GPUs, "mean +- deviation" of the tries in samples/s of
/// all GPUs. Rows that differ in the seed alone are tries; the deviation is the population's, as
/// numpy's. The column of one GPU is the profile's own rate, without a deviation. What failed or is
/// not there is "-".
[[nodiscard]] std::string ddl_benchmarks_table(const ResultRows& rows);

/// What benchmarks.py writes into reports.json: the means as text, by `rdma` setting, by task
/// ("resnet50_64") and by method.
[[nodiscard]] nlohmann::ordered_json ddl_benchmarks_reports(const ResultRows& rows);

}  // namespace gradwire
