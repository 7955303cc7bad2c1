#include "sim/validation/single_series.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/validation/collectives_gates.hpp"
#include "sim/validation/collectives_rows.hpp"
#include "sim/validation/pages.hpp"

namespace gradwire::validation {
namespace {

using config::MeasuredCollective;

class Collectives final : public Series {
 public:
  Collectives(const std::string& file, bool gated) : gated_(gated) {
    const config::YamlValue& document = config::loaded_yaml(reference_file(file));
    measured_ = config::read_collective_measurements(document);
    add_alone("a");
    for (const MeasuredCollective& table : measured_.tables) {
      if (!table.parts.contains("b")) continue;
      tasks_.emplace_back([&table] { return rows_of_other_sizes(table); });
    }
    add_families();
    for (const MeasuredCollective& table : measured_.choices) {
      tasks_.emplace_back([&table] { return rows_of_choices(table); });
    }
    add_alone("e");
  }

  [[nodiscard]] std::size_t tasks() const override { return tasks_.size(); }
  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override { return tasks_[task](); }
  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    return gated_ ? collective_gates(rows) : std::vector<Gate>{};
  }
  [[nodiscard]] std::string page(const SeriesReport& report) const override {
    return collectives_page(measured_, report);
  }

 private:
  void add_alone(const std::string& part) {
    for (const MeasuredCollective& table : measured_.tables) {
      if (!table.parts.contains(part)) continue;
      tasks_.emplace_back([&table, part] { return rows_alone(table, part); });
    }
  }

  /// A fit joins the tables of a family.
  void add_families() {
    std::map<std::string, std::vector<const MeasuredCollective*>> families;
    for (const MeasuredCollective& table : measured_.tables) {
      if (table.parts.contains("c")) families[table.family].push_back(&table);
    }
    for (const auto& entry : families) {
      tasks_.emplace_back([tables = entry.second] { return rows_of_other_ranks(tables); });
    }
  }

  bool gated_;
  config::CollectiveMeasurements measured_;
  std::vector<std::function<std::vector<Row>()>> tasks_;  ///< refer to measured_
};

}  // namespace

std::unique_ptr<Series> open_collectives() {
  return std::make_unique<Collectives>("collectives.yaml", true);
}

std::unique_ptr<Series> open_blind_collectives() {
  return std::make_unique<Collectives>("collectives_blind.yaml", false);
}

}  // namespace gradwire::validation
