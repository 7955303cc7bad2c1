#include "sim/validation/collectives_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/hold_out.hpp"
#include "sim/config/yaml/yaml_units.hpp"
#include "sim/core/error.hpp"
#include "sim/engine/uncontended.hpp"
#include "sim/validation/collectives_gates.hpp"

namespace gradwire::validation {
namespace {

using config::MeasuredCollective;
using config::MeasurementRole;

std::string way(const std::string& algorithm, const std::string& protocol) {
  return protocol.empty() ? algorithm : algorithm + " " + protocol;
}

/// The measured rows of a table, without predictions.
std::vector<Row> blank_rows(const MeasuredCollective& table, const std::string& part,
                            const std::string& role) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < table.series.rows.size(); ++i) {
    const MeasuredRow& measured = table.series.rows[i];
    rows.push_back({.group = fmt::format("({}) {}", part, table.id),
                    .label = config::bound_text(measured.size),
                    .role = role,
                    .unit = "us",
                    .measured = 1e6 * measured.time.count(),
                    .bytes = static_cast<double>(measured.size.count()),
                    .spread = table.spreads[i],
                    .missing = table.missing});
  }
  return rows;
}

std::string role_in(const MeasuredCollective& table, const std::string& part) {
  return config::name_of(table.parts.at(part));
}

enum class Times : std::uint8_t {
  run,     ///< from the start to the end
  planned  ///< by which the library chose, where it has a model of its own
};

void predict_alone(const MeasuredCollective& table, Times which, std::vector<Row>& rows) {
  std::vector<Bytes> sizes;
  for (const MeasuredRow& row : table.series.rows) sizes.push_back(row.size);
  try {
    const std::vector<UncontendedTime> times = uncontended_times(
        *table.cluster, *table.library, table.series.op, table.placement, sizes, {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CollectiveCost& cost = times[i].cost;
      const bool planned = which == Times::planned && cost.planned.has_value();
      rows[i].predicted = 1e6 * (planned ? *cost.planned : times[i].time).count();
      rows[i].how = way(cost.algorithm, cost.protocol);
    }
  } catch (const SimulationError& error) {
    for (Row& row : rows) row.failure = error.what();
  }
}

/// Puts a fit's predictions into the rows of their sizes.
/// @return the rows that have one.
std::vector<Row> with_predictions(std::vector<Row> rows, std::span<const HeldOutRow> predicted) {
  std::vector<Row> filled;
  for (const HeldOutRow& held : predicted) {
    const auto size = static_cast<double>(held.sample.size.count());
    const auto row = std::ranges::find(rows, size, &Row::bytes);
    row->predicted = 1e6 * held.predicted.count();
    row->how = "fit, " + way(held.sample.algorithm, held.sample.protocol);
    if (held.sample.algorithm.empty()) row->how = "fit";
    filled.push_back(*row);
  }
  return filled;
}

}  // namespace

std::vector<Row> rows_alone(const MeasuredCollective& table, const std::string& part) {
  std::vector<Row> rows = blank_rows(table, part, role_in(table, part));
  predict_alone(table, Times::run, rows);
  if (table.parts.at(part) != MeasurementRole::show) give_limits(table, part, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Bytes size = table.series.rows[i].size;
    const bool is_fitted = std::ranges::any_of(table.fitted, [&](const auto& sizes) {
      return size >= sizes.first && size <= sizes.second;
    });
    if (is_fitted) rows[i].role = config::name_of(MeasurementRole::calibrate);
  }
  return rows;
}

std::vector<Row> rows_of_other_sizes(const MeasuredCollective& table) {
  const std::vector<HeldOutRow> held = every_second_size(std::span(&table.series, 1));
  std::vector<Row> rows = with_predictions(blank_rows(table, "b", role_in(table, "b")), held);
  give_limits(table, "b", rows);
  return rows;
}

std::vector<Row> rows_of_other_ranks(std::span<const MeasuredCollective* const> family) {
  const auto samples = [](const MeasuredCollective& table) {
    return samples_of(table.series, *table.cluster, *table.library);
  };
  std::vector<FitSample> fitted;
  for (const MeasuredCollective* table : family) {
    if (table->parts.at("c") != MeasurementRole::calibrate) continue;
    std::ranges::move(samples(*table), std::back_inserter(fitted));
  }
  std::vector<Row> all;
  for (const MeasuredCollective* table : family) {
    std::vector<Row> rows = with_predictions(blank_rows(*table, "c", role_in(*table, "c")),
                                             predict(fitted, samples(*table)));
    give_limits(*table, "c", rows);
    std::ranges::move(rows, std::back_inserter(all));
  }
  return all;
}

std::vector<Row> rows_of_choices(const MeasuredCollective& table) {
  std::vector<Row> rows = blank_rows(table, "d", config::name_of(MeasurementRole::score));
  predict_alone(table, Times::planned, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasuredRow& row = table.series.rows[i];
    const std::string printed = way(row.algorithm, row.protocol);
    rows[i].other_choice = rows[i].failure.empty() && rows[i].how != printed;
    rows[i].label += ", " + printed;
  }
  give_limits(table, "d", rows);
  return rows;
}

}  // namespace gradwire::validation
