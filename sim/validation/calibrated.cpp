#include "sim/validation/single_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "calibration/fit/hold_out.hpp"
#include "sim/config/calibrated_jobs_yaml.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "sim/core/statistics.hpp"
#include "strategies/compression/compressor.hpp"

namespace gradwire::validation {
namespace {

namespace fs = std::filesystem;

constexpr double calibrated_gate = 0.05;
constexpr Bytes scored_from{1 << 20};
/// A machine for one GPU that has no node.yaml beside it; nothing is communicated there.
constexpr const char* any_node = "dgx_a100";

using config::CalibratedJob;

class Calibrated final : public Series {
 public:
  Calibrated(const std::string& folder, Predict predict)
      : folder_(folder), predict_(std::move(predict)) {
    const config::YamlValue& document = config::loaded_yaml((folder_ / "jobs.yaml").string());
    config::CalibratedJobs read = config::read_calibrated_jobs(document);
    node_ = path_of(read.node);
    collectives_ = path_of(read.collectives);
    for (const std::string& name : read.compressor_costs) {
      compressor_costs_.push_back(path_of(name));
    }
    jobs_ = std::move(read.jobs);
    for (CalibratedJob& job : jobs_) job.profile = path_of(job.profile);
  }

  [[nodiscard]] std::size_t tasks() const override {
    return jobs_.size() + (collectives_.empty() ? 0 : 1) + compressor_costs_.size();
  }

  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override {
    if (task < jobs_.size()) return {row_of(jobs_[task])};
    const std::size_t costs = jobs_.size() + (collectives_.empty() ? 0 : 1);
    return task < costs ? rows_of_collectives() : rows_of_costs(compressor_costs_[task - costs]);
  }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    std::vector<Gate> gates;
    const auto add = [&](const std::string& name, const char* what, double Errors::*figure) {
      const Errors errors = errors_of(rows, [&](const Row& row) { return row.gate == name; });
      if (errors.rows == 0) return;
      gates.push_back({.name = name + ": " + what,
                       .figure = errors.*figure,
                       .limit = calibrated_gate,
                       .unit = "%",
                       .known = errors.rows > errors.failed,
                       .note = fmt::format("{} rows", errors.rows - errors.failed)});
    };
    add("jobs", "worst", &Errors::worst);
    add("collectives", "median", &Errors::median);
    add("compressors", "median", &Errors::median);
    return gates;
  }

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return name.empty() ? "" : (folder_ / name).string();
  }

  [[nodiscard]] config::Scenario scenario_of(const CalibratedJob& job) const {
    std::string text = fmt::format(
        "{{schema: gradwire.scenario/1, name: calibrated, profile: {}, cluster: {{node: {}, "
        "gpus_per_node: {}}}, strategy: {{name: {}}}, run: {{iterations: 20, warmup: 2}}",
        config::yaml_quoted(job.profile), config::yaml_quoted(node_.empty() ? any_node : node_),
        job.gpus, job.gpus == 1 ? "none" : "ddp");
    if (job.gpus > 1 && !collectives_.empty()) {
      text += fmt::format(", collective: {{table: {}}}", config::yaml_quoted(collectives_));
    }
    return config::read_scenario(config::parse_yaml(text + "}", job.where.file), {});
  }

  [[nodiscard]] Row row_of(const CalibratedJob& job) const {
    Row row;
    row.group = "jobs";
    row.gate = "jobs";
    row.role = "score";
    row.label = fmt::format("{} on {} GPU{}", fs::path(job.profile).stem().string(), job.gpus,
                            job.gpus == 1 ? "" : "s");
    row.how = job.gpus == 1 ? "none" : "ddp";
    row.unit = "ms";
    row.measured = 1e3 * job.iteration.count();
    row.limit = calibrated_gate;
    try {
      const RunResult result = predict_(scenario_of(job));
      row.predicted = 1e3 * PooledSamples(result.samples, result.sample_weight).percentile(50);
    } catch (const SimulationError& error) {
      row.failure = error.what();
    }
    return row;
  }

  [[nodiscard]] std::vector<Row> rows_of_collectives() const {
    const CollectiveTable table = config::read_collective_table(config::loaded_yaml(collectives_));
    std::vector<Row> rows;
    for (const MeasuredSeries& series : table.series) {
      for (const HeldOutRow& held : every_second_size(std::span(&series, 1))) {
        if (held.sample.size >= scored_from) rows.push_back(row_of(series, held));
      }
    }
    return rows;
  }

  static Row row_of(const MeasuredSeries& series, const HeldOutRow& held) {
    Row row;
    row.group = fmt::format("{} on {} GPUs", name_of(series.op), series.ranks);
    row.gate = "collectives";
    row.role = "score";
    row.bytes = static_cast<double>(held.sample.size.count());
    row.label = fmt::format("{:.4g} MiB", row.bytes / static_cast<double>(scored_from.count()));
    row.how = "lines through every second size";
    row.unit = "us";
    row.measured = 1e6 * held.sample.time.count();
    row.predicted = 1e6 * held.predicted.count();
    row.limit = calibrated_gate;
    return row;
  }

  static std::vector<Row> rows_of_costs(const std::string& file) {
    std::vector<Row> rows;
    for (const CompressorTable& table : config::read_compressor_costs(config::loaded_yaml(file))) {
      CompressorTable half = table;
      half.rows.clear();
      for (std::size_t i = 0; i < table.rows.size(); i += 2) half.rows.push_back(table.rows[i]);
      const std::string group = fs::path(file).stem().string() + ": " + table.compressor;
      for (std::size_t i = 1; i + 1 < table.rows.size(); i += 2) {
        const CompressorRow& held = table.rows[i];
        if (fp32_size(held.elements) < scored_from) continue;
        rows.push_back(row_of(group, half, held, true));
        if (held.decode && time_of(half, false, held.elements)) {
          rows.push_back(row_of(group, half, held, false));
        }
      }
    }
    return rows;
  }

  static Row row_of(const std::string& group, const CompressorTable& half,
                    const CompressorRow& held, bool encode) {
    Row row;
    row.group = group;
    row.gate = "compressors";
    row.role = "score";
    row.bytes = static_cast<double>(fp32_size(held.elements).count());
    row.label = fmt::format("{} {:.4g} MiB", encode ? "encode" : "decode",
                            row.bytes / static_cast<double>(scored_from.count()));
    row.how = "log-log lines through every second size";
    row.unit = "us";
    row.measured = 1e6 * (encode ? held.encode : *held.decode).count();
    row.predicted = 1e6 * time_of(half, encode, held.elements)->count();
    row.limit = calibrated_gate;
    return row;
  }

  fs::path folder_;
  Predict predict_;
  std::string node_;
  std::string collectives_;
  std::vector<std::string> compressor_costs_;
  std::vector<CalibratedJob> jobs_;
};

}  // namespace

std::unique_ptr<Series> open_calibrated(const std::string& folder, const Predict& predict) {
  return std::make_unique<Calibrated>(folder, predict);
}

}  // namespace gradwire::validation
