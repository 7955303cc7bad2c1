#include "sim/validation/single_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/statistics.hpp"
#include "sim/validation/minimise.hpp"

namespace gradwire::validation {
namespace {

/// From here on a row is predicted, not calibrated.
constexpr int gpus_predicted = 4;
constexpr double gate_p50 = 0.02;
constexpr double gate_buckets = 0.01;  ///< a point
constexpr double gate_constants = 0.02;
/// The one row known to miss 2 %: ResNeXt-50 on one machine of 8 (see ddpbench.md).
constexpr int known_misses = 1;
constexpr const char* bucket_gated = "resnet50";
constexpr const char* missing_in_machine =
    "what eight busy GPUs of one machine share: CPU threads that launch, power or cooling";

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

std::vector<Model> read_measured() {
  const config::YamlValue& document = config::loaded_yaml(reference_file("ddpbench.yaml"));
  config::YamlMap map(document);
  map.require_schema("gradwire.reference/1");
  const int batch = map.require<int>("batch_per_gpu", config::at_least(1));
  config::YamlMap large = map.require_map("bucket_cap_25_MiB");
  config::YamlMap small = map.require_map("bucket_cap_1_MiB");
  std::vector<Model> models;
  for (const std::string& name : large.keys()) {
    Model model{name, {}};
    for (config::YamlMap& row : large.maps(name)) {
      if (row.require<std::string>("label") == "no ddp") continue;
      const int rate = row.list<int>("rate", config::at_least(1)).at(0);
      const int gpus = row.require<int>("nodes") * row.require<int>("gpus_per_node");
      model.rows.push_back({gpus, (batch / (rate + 1.0) + 1.0 * batch / rate) / 2, 0});
    }
    const std::vector<config::YamlMap> differences = small.maps(name);
    assert(differences.size() == model.rows.size());
    for (std::size_t i = 0; i < differences.size(); ++i) {
      config::YamlMap row = differences[i];
      model.rows[i].difference = row.list<double>("difference_percent").at(0);
    }
    models.push_back(std::move(model));
  }
  return models;
}

struct Constants {
  double kernel_overhead_us;
  double overlap;
};

struct Percentiles {
  double p50;
  double p75;
};

constexpr int fit_steps = 12;  ///< a part in 600 of the span searched

class DdpBench final : public Series {
 public:
  explicit DdpBench(Predict predict) : predict_(std::move(predict)), models_(read_measured()) {}

  /// The fit to one GPU goes before that to two, and both before the predictions.
  [[nodiscard]] std::size_t tasks() const override { return 1; }

  [[nodiscard]] std::vector<Row> rows(std::size_t /*task*/) const override {
    std::vector<Row> rows;
    Constants fit{2.64, 1};  // of a newer system, to begin with; each is fitted in turn
    fit.kernel_overhead_us = minimise(1, 12, fit_steps, [&](double v) {
      return squares(0, {v, fit.overlap});
    });
    append_p50("p50, calibrated on one GPU only", fit, 1, rows);
    fit.overlap = minimise(1, 12, fit_steps, [&](double v) {
      return squares(1, {fit.kernel_overhead_us, v});
    });
    const Constants used = in_scenario();
    append_p50("p50, calibrated on one and two GPUs", used, 2, rows);
    append_buckets(used, rows);
    const auto constant = [&](const char* label, const char* unit, double fitted, double written) {
      rows.push_back({.group = "constants of the scenario against the fit's",
                      .gate = "constants",
                      .label = label,
                      .role = "calibrate",
                      .unit = unit,
                      .measured = fitted,
                      .predicted = written,
                      .limit = gate_constants});
    };
    constant("kernel overhead of DDP's copies", "us", fit.kernel_overhead_us,
             used.kernel_overhead_us);
    constant("slowdown under communication", "x", fit.overlap, used.overlap);
    return rows;
  }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    const auto missed = [&](const std::string& gate) {
      return static_cast<double>(
          errors_of(rows, [&](const Row& row) { return row.gate == gate; }).missed);
    };
    return {{.name = "rows off by more than 2 % at p50, 4 to 16 GPUs",
             .figure = missed("p50"),
             .limit = known_misses,
             .note = "one is known, ResNeXt-50 on 8 GPUs"},
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

  [[nodiscard]] Percentiles simulate(std::size_t model, std::size_t row, const Constants& constants,
                                     const char* bucket_cap) const {
    const auto scenarios = config::read_scenario(
        scenario_file(), {fmt::format("profile.overlap={}", constants.overlap),
                          fmt::format("gpu.kernel_overhead={} us", constants.kernel_overhead_us),
                          fmt::format("strategy.bucket_cap={}", bucket_cap)});
    // "no ddp", which is not predicted, stands before the rows of each model.
    const std::size_t points = models_[model].rows.size() + 1;
    const auto result = predict_(scenarios.at(model * points + 1 + row));
    const PooledSamples samples(result.samples, result.sample_weight);
    return {samples.percentile(50), samples.percentile(75)};
  }

  [[nodiscard]] double squares(std::size_t row, const Constants& constants) const {
    double sum = 0;
    for (std::size_t m = 0; m < models_.size(); ++m) {
      sum += std::pow(simulate(m, row, constants, "25 MiB").p50 / models_[m].rows[row].p50 - 1, 2);
    }
    return sum;
  }

  void append_p50(const char* group, const Constants& constants, std::size_t calibrated,
                  std::vector<Row>& rows) const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (std::size_t i = 0; i < models_[m].rows.size(); ++i) {
        const Measured& measured = models_[m].rows[i];
        Row row{.group = group,
                .label = fmt::format("{} on {} GPUs", models_[m].name, measured.gpus),
                .role = i < calibrated ? "calibrate" : "score",
                .unit = "ms",
                .measured = 1e3 * measured.p50,
                .predicted = 1e3 * simulate(m, i, constants, "25 MiB").p50};
        if (calibrated < 2 && row.role == "score") row.role = "show";
        if (row.role == "score" && measured.gpus >= gpus_predicted) {
          row.gate = "p50";
          row.limit = gate_p50;
          row.missing = missing_in_machine;
        }
        rows.push_back(std::move(row));
      }
    }
  }

  void append_buckets(const Constants& constants, std::vector<Row>& rows) const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (std::size_t i = 0; i < models_[m].rows.size(); ++i) {
        const Measured& measured = models_[m].rows[i];
        const double large = simulate(m, i, constants, "25 MiB").p75;
        const double small = simulate(m, i, constants, "1 MiB").p75;
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
                        .compared = label});
      }
    }
  }

  [[nodiscard]] static Constants in_scenario() {
    const auto scenario = config::read_scenario(scenario_file(), {}).at(1);
    return {scenario.gpu.kernel_overhead.count() * 1e6, scenario.profile->overlap.at("conv3")};
  }

  Predict predict_;
  std::vector<Model> models_;
};

}  // namespace

std::unique_ptr<Series> open_ddpbench(const Predict& predict) {
  return std::make_unique<DdpBench>(predict);
}

}  // namespace gradwire::validation
