#include "sim/validation/collectives.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/collective_measurements_yaml.hpp"
#include "sim/config/yaml_units.hpp"
#include "sim/core/error.hpp"
#include "sim/engine/alone.hpp"
#include "sim/validation/collectives_gates.hpp"
#include "sim/validation/collectives_page.hpp"

namespace gradwire::validation {
namespace {

using config::MeasuredCollective;

std::string way(const AloneTime& time) {
  return time.protocol.empty() ? time.algorithm : time.algorithm + " " + time.protocol;
}

std::string way(const MeasuredRow& row) {
  return row.algorithm + " " + row.protocol;
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

std::vector<AloneTime> times_of(const MeasuredCollective& table) {
  std::vector<Bytes> sizes;
  for (const MeasuredRow& row : table.series.rows) sizes.push_back(row.size);
  return time_alone(*table.cluster, *table.library, table.series.op, table.placement, sizes, {});
}

/// Predictions from the cluster alone.
void predict_alone(const MeasuredCollective& table, std::vector<Row>& rows) {
  try {
    const std::vector<AloneTime> times = times_of(table);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].predicted = 1e6 * times[i].time.count();
      rows[i].how = way(times[i]);
    }
  } catch (const SimulationError& error) {
    for (Row& row : rows) row.failure = error.what();
  }
}

class Collectives final : public Series {
 public:
  Collectives() {
    const config::YamlValue document = config::load_yaml(reference_file("collectives.yaml"));
    measured_ = config::read_collective_measurements(document);
    for (const char* part : {"a", "e"}) add_alone(part);
    for (const MeasuredCollective& table : measured_.choices) {
      tasks_.emplace_back([&table] {
        std::vector<Row> rows = blank_rows(table, "d", "score");
        predict_alone(table, rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const std::string printed = way(table.series.rows[i]);
          rows[i].other_choice = rows[i].failure.empty() && rows[i].how != printed;
          rows[i].label += ", " + printed;
        }
        give_limits(table, "d", rows);
        return rows;
      });
    }
  }

  [[nodiscard]] std::size_t tasks() const override { return tasks_.size(); }
  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override { return tasks_[task](); }
  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    return collective_gates(rows);
  }
  [[nodiscard]] std::string page(const SeriesReport& report) const override {
    return collectives_page(measured_, report);
  }

 private:
  void add_alone(const std::string& part) {
    for (const MeasuredCollective& table : measured_.tables) {
      const auto role = table.parts.find(part);
      if (role == table.parts.end()) continue;
      tasks_.emplace_back([&table, part, role = config::name_of(role->second)] {
        std::vector<Row> rows = blank_rows(table, part, role);
        predict_alone(table, rows);
        give_limits(table, part, rows);
        return rows;
      });
    }
  }

  config::CollectiveMeasurements measured_;
  std::vector<std::function<std::vector<Row>()>> tasks_;  ///< refer to measured_
};

}  // namespace

std::unique_ptr<Series> open_collectives() {
  return std::make_unique<Collectives>();
}

}  // namespace gradwire::validation
