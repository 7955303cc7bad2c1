#include "sim/validation/single_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire::validation {
namespace {

/// Rows of one GPU calibrate, all others are predicted.
constexpr std::size_t calibrated_rows = 1;
constexpr double gate_p50 = 0.02;
constexpr double gate_buckets = 0.01;  ///< a point
constexpr double gate_constants = 0.02;
constexpr const char* bucket_gated = "resnet50";
constexpr const char* missing_in_buckets =
    "compute beside many small collectives: kernels whose blocks fill the GPU once take two turns "
    "where NCCL's hold a multiprocessor";

/// A row of the benchmark's table: one number of GPUs.
struct Measured {
  int gpus = 0;
  double p50 = 0;         ///< seconds: middle of the interval that the truncated rate stands for
  double difference = 0;  ///< per cent at p75, bucket_cap 1 MiB against 25 MiB
};
struct Model {
  std::string name;
  std::vector<Measured> rows;
};

/// A row as printed.
struct Printed {
  std::string label;
  int nodes = 1;
  int gpus_per_node = 1;
  std::vector<int> rate;
  std::vector<double> difference;
};
using PrintedTable = std::vector<std::pair<std::string, std::vector<Printed>>>;
/// The whole file.
struct PrintedTables {
  int batch = 1;
  PrintedTable large;
  PrintedTable small;
};

const config::Fields<Printed>& printed_fields() {
  using config::field;
  static const config::Fields<Printed> fields = {
      "printed",
      "a row as printed",
      {field("label", &Printed::label, "the benchmark's own", {}, "none"),
       field("nodes", &Printed::nodes, "machines", config::at_least(1), config::required),
       field("gpus_per_node", &Printed::gpus_per_node, "GPUs of each", config::at_least(1),
             config::required),
       config::note<Printed>("time", "of an iteration, at the percentiles"),
       field("rate", &Printed::rate, "whole images/s of a GPU, at the percentiles",
             config::at_least(1), config::required),
       field("difference_percent", &Printed::difference, "to the other cap, at the percentiles")}};
  return fields;
}

config::Field<PrintedTables> table_key(const char* name, PrintedTable PrintedTables::*table) {
  return {{name, config::required, "rows of each model"},
          [name, table](config::YamlMap& map, PrintedTables& into) {
            config::YamlMap models = map.require_map(name);
            for (const std::string& model : models.keys()) {
              auto& rows = (into.*table).emplace_back(model, std::vector<Printed>()).second;
              for (config::YamlMap& row : models.maps(model)) {
                printed_fields().read_all(row, rows.emplace_back());
              }
            }
          }};
}

const config::Fields<PrintedTables>& printed_tables_fields() {
  using Tables = PrintedTables;
  static const config::Fields<Tables> fields = {
      "ddpbench",
      "what the benchmark printed",
      {config::note<Tables>("name", "the series'"), config::note<Tables>("source", "of the rows"),
       config::field("batch_per_gpu", &Tables::batch, "of every row", config::at_least(1),
                     config::required),
       table_key("bucket_cap_25_MiB", &Tables::large),
       table_key("bucket_cap_1_MiB", &Tables::small)}};
  return fields;
}

std::vector<Model> read_measured() {
  config::YamlMap map(config::loaded_yaml(reference_file("ddpbench.yaml")));
  map.require_schema("gradwire.reference/1");
  PrintedTables tables;
  printed_tables_fields().read_all(std::move(map), tables);
  assert(tables.large.size() == tables.small.size());
  std::vector<Model> models;
  for (std::size_t m = 0; m < tables.large.size(); ++m) {
    Model model{tables.large[m].first, {}};
    for (const Printed& row : tables.large[m].second) {
      if (row.label == "no ddp") continue;
      const int rate = row.rate.at(0);
      const double p50 = (tables.batch / (rate + 1.0) + 1.0 * tables.batch / rate) / 2;
      const Printed& small = tables.small[m].second.at(model.rows.size());
      model.rows.push_back({row.nodes * row.gpus_per_node, p50, small.difference.at(0)});
    }
    models.push_back(std::move(model));
  }
  return models;
}

struct Percentiles {
  double p50;
  double p75;
};

/// The overhead is searched to a part in 2000, in so many steps at most.
constexpr int search_bits = 12;
constexpr std::uintmax_t search_steps = 14;

class DdpBench final : public Series {
 public:
  explicit DdpBench(Predict predict) : predict_(std::move(predict)), models_(read_measured()) {}

  /// The fit to one GPU goes before the predictions.
  [[nodiscard]] std::size_t tasks() const override { return 1; }

  [[nodiscard]] std::vector<Row> rows(std::size_t /*task*/) const override {
    std::vector<Row> rows;
    std::uintmax_t steps = search_steps;
    const double fitted = boost::math::tools::brent_find_minima(
                              [&](double us) { return squares(us); }, 1.0, 12.0, search_bits, steps)
                              .first;
    const double written =
        config::read_scenario(scenario_file(), {}).at(1).gpu.kernel_overhead.count() * 1e6;
    append_p50(written, rows);
    append_buckets(written, rows);
    rows.push_back({.group = "constant of the scenario against the fit's",
                    .gate = "constants",
                    .label = "kernel overhead of DDP's copies",
                    .role = "calibrate",
                    .unit = "us",
                    .measured = fitted,
                    .predicted = written,
                    .limit = gate_constants});
    return rows;
  }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    const auto missed = [&](const std::string& gate) {
      return static_cast<double>(
          errors_of(rows, [&](const Row& row) { return row.gate == gate; }).missed);
    };
    return {{.name = "rows off by more than 2 % at p50, 2 to 16 GPUs",
             .figure = missed("p50"),
             .limit = 0},
            {.name = "rows off by more than a point, 1 MiB against 25 MiB, ResNet-50",
             .figure = missed("buckets"),
             .limit = 0},
            {.name = "constants of the scenario that are not the fit's to 2 %",
             .figure = missed("constants"),
             .limit = 0}};
  }

 private:
  [[nodiscard]] static std::string scenario_file() {
    return (config::data_folder() / "scenarios" / "pytorch_ddp_v100.yaml").string();
  }

  /// @param overhead  of a kernel of DDP's copies, us
  [[nodiscard]] Percentiles simulate(std::size_t model, std::size_t row, double overhead,
                                     const char* bucket_cap) const {
    const auto scenarios =
        config::read_scenario(scenario_file(), {fmt::format("gpu.kernel_overhead={} us", overhead),
                                                fmt::format("strategy.bucket_cap={}", bucket_cap)});
    // "no ddp", which is not predicted, stands before the rows of each model.
    const std::size_t points = models_[model].rows.size() + 1;
    const auto result = predict_(scenarios.at(model * points + 1 + row));
    const PooledSamples samples(result.samples, result.sample_weight);
    return {samples.percentile(50), samples.percentile(75)};
  }

  /// Of the errors of the rows of one GPU.
  [[nodiscard]] double squares(double overhead) const {
    double sum = 0;
    for (std::size_t m = 0; m < models_.size(); ++m) {
      sum += std::pow(simulate(m, 0, overhead, "25 MiB").p50 / models_[m].rows[0].p50 - 1, 2);
    }
    return sum;
  }

  void append_p50(double overhead, std::vector<Row>& rows) const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (std::size_t i = 0; i < models_[m].rows.size(); ++i) {
        const Measured& measured = models_[m].rows[i];
        Row row{.group = "p50, calibrated on one GPU",
                .label = fmt::format("{} on {} GPUs", models_[m].name, measured.gpus),
                .role = i < calibrated_rows ? "calibrate" : "score",
                .unit = "ms",
                .measured = 1e3 * measured.p50,
                .predicted = 1e3 * simulate(m, i, overhead, "25 MiB").p50};
        if (i >= calibrated_rows) {
          row.gate = "p50";
          row.limit = gate_p50;
        }
        rows.push_back(std::move(row));
      }
    }
  }

  void append_buckets(double overhead, std::vector<Row>& rows) const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (std::size_t i = 0; i < models_[m].rows.size(); ++i) {
        const Measured& measured = models_[m].rows[i];
        const double large = simulate(m, i, overhead, "25 MiB").p75;
        const double small = simulate(m, i, overhead, "1 MiB").p75;
        const bool gated = models_[m].name == bucket_gated;
        const std::string label = fmt::format("{} on {} GPUs", models_[m].name, measured.gpus);
        rows.push_back({.group = "bucket cap 1 MiB against 25 MiB, p75",
                        .gate = gated ? "buckets" : "",
                        .label = label,
                        .role = "score",
                        .unit = "%",
                        .measured = measured.difference,
                        .predicted = -100 * (small - large) / large,  // the benchmark's sign
                        .limit = gated ? gate_buckets : 0,
                        .compared = label,
                        .missing = gated ? missing_in_buckets : ""});
      }
    }
  }

  Predict predict_;
  std::vector<Model> models_;
};

}  // namespace

std::unique_ptr<Series> open_ddpbench(const Predict& predict) {
  return std::make_unique<DdpBench>(predict);
}

}  // namespace gradwire::validation
