#include "sim/validation/single_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/profile/model_catalogue.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/models/efficiency_fit.hpp"
#include "sim/validation/published_rates.hpp"

namespace gradwire::validation {
namespace {

/// Tables are written in whole per cent, and shares of one class lie on a grid of 2 %.
constexpr double gate_share = 0.05;
/// A factor that few rows say something of keeps near the one that is given.
constexpr double gate_factor = 0.15;
/// A row further off is a miss.
constexpr double gate_row = 0.25;
constexpr double gate_left_out_median = 0.10;
constexpr double gate_scored_median = 0.15;

struct Job {
  std::string id;
  bool scored = false;
  std::string how;
  TimedJob timed;
  /// Whose factors it says something of: the GPU's table and the type.
  [[nodiscard]] std::string table() const {
    return timed.gpu.architecture + " " + executed_dtype(timed.gpu, timed.dtype);
  }
};

const config::Fields<PublishedRate>& compute_rate_fields() {
  static const config::Fields<PublishedRate> fields = [] {
    auto keys = published_rate_keys();
    keys.push_back(config::choice("covers", &PublishedRate::with_optimizer,
                                  {{"step", true}, {"forward_backward", false}}, "what was timed"));
    return config::Fields<PublishedRate>("compute_rate", "a published rate of one GPU", keys);
  }();
  return fields;
}

Job rate_job_of(PublishedRate published) {
  config::AnalyticJob& read = published.job;
  Job job;
  job.id = std::move(published.id);
  job.scored = published.scored;
  job.how = std::move(published.framework);
  job.timed.with_optimizer = published.with_optimizer;
  job.timed.model = std::move(read.model);
  job.timed.gpu = std::move(read.gpu);
  job.timed.batch = read.batch;
  job.timed.dtype = std::move(read.dtype);
  job.timed.options = read.options;
  job.timed.time = Seconds{read.batch / published.rate};
  return job;
}

Row rate_row(const Job& job, const LikeFactors& factors, const std::string& group) {
  Row row;
  row.group = group;
  row.label = fmt::format("{} {} {} b{} {}", job.id, job.timed.model.name, job.timed.gpu.name,
                          job.timed.batch, job.timed.dtype);
  row.how = job.how;
  row.role = "show";
  row.unit = "/s";
  row.measured = job.timed.batch / job.timed.time.count();
  row.predicted =
      job.timed.batch / predicted_time(config::shipped_hosts(), job.timed, factors).count();
  row.set_interval(analytic_error(job.timed.gpu.errors, job.timed.model, job.timed.dtype));
  return row;
}

Row repeated_row(const std::string& label, const std::string& how, double given, double fitted,
                 double limit) {
  Row row;
  row.group = "fitted again";
  row.gate = "repeated";
  row.label = label;
  row.how = how;
  row.role = "show";
  row.unit = "%";
  row.measured = 100 * given;
  row.predicted = 100 * fitted;
  row.limit = limit;
  return row;
}

using Jobs = std::vector<const TimedJob*>;

/// A table's factors fitted again, and every row by a fit without its model, or without its GPU.
std::vector<Row> table_rows(const std::string& table, const std::vector<const Job*>& jobs) {
  const auto without = [&](const auto& left_out) {
    Jobs rest;
    for (const Job* job : jobs) {
      if (!left_out(*job)) rest.push_back(&job->timed);
    }
    return rest;
  };
  const Jobs all = without([](const Job&) { return false; });
  const LikeFactors fitted = fit_factors(config::shipped_hosts(), all);
  std::vector<Row> rows;
  const std::string how = fmt::format("{} rows", jobs.size());
  for (const auto& [name, factor] :
       {std::pair{"convolutions", fitted.convolutions}, std::pair{"grouped", fitted.grouped},
        std::pair{"products", fitted.products}, std::pair{"memory", fitted.memory}}) {
    rows.push_back(repeated_row(fmt::format("{}: {}", table, name), how, 1, factor, gate_factor));
  }
  std::set<std::string> models;
  std::set<std::string> gpus;
  for (const Job* job : jobs) {
    models.insert(job->timed.model.name);
    gpus.insert(job->timed.gpu.name);
    rows.push_back(rate_row(*job, {}, "calibration rows"));
    rows.back().role = "calibrate";
  }
  const auto add_left_out = [&](const std::string& group, const auto& same) {
    const Jobs rest = without(same);
    if (rest.empty()) return;
    const LikeFactors factors = fit_factors(config::shipped_hosts(), rest);
    for (const Job* job : jobs) {
      if (same(*job)) rows.push_back(rate_row(*job, factors, group));
    }
  };
  for (const std::string& model : models) {
    add_left_out("fitted without the model",
                 [&](const Job& job) { return job.timed.model.name == model; });
  }
  for (const std::string& gpu : gpus) {
    add_left_out("fitted without the GPU",
                 [&](const Job& job) { return job.timed.gpu.name == gpu; });
  }
  return rows;
}

ModelDescription model_of(const ComputeProfile& recorded) {
  const config::YamlValue document = config::parse_yaml("model: " + recorded.model, "");
  config::YamlMap map(document);
  return config::read_model(map);
}

/// Profiles that shares of one table are fitted to.
struct Recordings {
  std::vector<std::string> profiles;
  std::vector<std::string> classes;  ///< whose shares; empty: all
  bool channels_last = false;
};

const config::Fields<Recordings>& recordings_fields() {
  static const config::Fields<Recordings> fields = {
      "recordings",
      "profiles that shares of one table are fitted to",
      {config::field("profiles", &Recordings::profiles, "their names", {}, config::required),
       config::field("classes", &Recordings::classes, "whose shares", {}, "all"),
       config::choice("memory_format", &Recordings::channels_last,
                      {{"contiguous", false}, {"channels_last", true}}, "of their tensors")}};
  return fields;
}

/// The file.
struct ComputeRates {
  std::vector<Recordings> recordings;
  std::vector<PublishedRate> rows;
};

const config::Fields<ComputeRates>& compute_rates_fields() {
  using File = ComputeRates;
  static const config::Fields<File> fields = {
      "compute_rates",
      "recordings, and published rates of one GPU",
      {config::inside("recordings", &File::recordings, recordings_fields, "by table"),
       config::inside("rows", &File::rows, compute_rate_fields, "of rates")}};
  return fields;
}

/// The classes of one GPU's recordings fitted again, beside the shares of its table.
std::vector<Row> class_rows(const Recordings& recordings) {
  std::vector<TimedWork> layers;
  GpuSpec gpu;
  std::string dtype;
  for (const std::string& name : recordings.profiles) {
    const ComputeProfile recorded = config::read_profile(
        config::loaded_yaml(config::data_file(config::DataKind::profile, name).string()));
    gpu = config::shipped_gpu(recorded.gpu, {});
    dtype = recorded.dtype;
    std::ranges::move(timed_work(config::shipped_hosts(), recorded, model_of(recorded), gpu,
                                 recordings.channels_last),
                      std::back_inserter(layers));
  }
  std::vector<Row> rows;
  for (const ClassFit& fit : fit_classes(layers, gpu, dtype)) {
    // A handful of products are matrix times vector, and memory-bound classes are of older fits.
    if (!is_matrix(fit.work_class) || fit.work_class == "linear") continue;
    const bool asked =
        recordings.classes.empty() ||
        std::ranges::find(recordings.classes, fit.work_class) != recordings.classes.end();
    if (!asked) continue;
    const DirectedEfficiency& table = gpu.efficiency.at(dtype).at(fit.work_class);
    const bool forward = fit.direction == Direction::forward;
    const Efficiency& given = forward ? table.forward : table.backward;
    const std::string label = fmt::format("{} {}: {} {}", gpu.architecture, dtype, fit.work_class,
                                          forward ? "forward" : "backward");
    const std::string how = fmt::format("{} layers, {:.0f} % rms", fit.layers, 100 * fit.rms);
    rows.push_back(
        repeated_row(label + ", flops", how, given.flops, fit.efficiency.flops, gate_share));
    if (given.memory > 0 || fit.efficiency.memory > 0) {
      rows.push_back(
          repeated_row(label + ", memory", how, given.memory, fit.efficiency.memory, gate_share));
    }
  }
  return rows;
}

class Compute final : public Series {
 public:
  Compute() {
    const config::YamlValue& document = config::loaded_yaml(reference_file("compute.yaml"));
    config::YamlMap map(document);
    map.require_schema("gradwire.reference.compute/1");
    ComputeRates read;
    compute_rates_fields().read_all(std::move(map), read);
    recordings_ = std::move(read.recordings);
    for (PublishedRate& row : read.rows) jobs_.push_back(rate_job_of(std::move(row)));
    for (const Job& job : jobs_) {
      if (!job.scored) tables_[job.table()].push_back(&job);
    }
  }

  /// The recordings of a GPU, the rows of a table, and the scored rows.
  [[nodiscard]] std::size_t tasks() const override {
    return recordings_.size() + tables_.size() + 1;
  }

  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override {
    if (task < recordings_.size()) return class_rows(recordings_[task]);
    task -= recordings_.size();
    if (task < tables_.size()) {
      const auto& [table, jobs] = *std::next(tables_.begin(), static_cast<std::ptrdiff_t>(task));
      return table_rows(table, jobs);
    }
    std::vector<Row> rows;
    for (const Job& job : jobs_) {
      if (!job.scored) continue;
      rows.push_back(rate_row(job, {}, "scored rows"));
      rows.back().role = "score";
      rows.back().gate = "rates";
      rows.back().limit = gate_row;
    }
    return rows;
  }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    const auto in = [&](const std::string& group) {
      return errors_of(rows, [&](const Row& row) { return row.group == group; });
    };
    const Errors left_out = in("fitted without the model");
    const Errors scored = in("scored rows");
    return {{.name = "shares and factors that a new fit finds elsewhere",
             .figure = static_cast<double>(in("fitted again").missed),
             .limit = 0},
            {.name = "median of calibration rows fitted without their model",
             .figure = left_out.median,
             .limit = gate_left_out_median,
             .unit = "%",
             .note = fmt::format("p90 {:.1f} %; with it {:.1f} %, p90 {:.1f} %", 100 * left_out.p90,
                                 100 * in("calibration rows").median,
                                 100 * in("calibration rows").p90)},
            {.name = "median of the scored rows",
             .figure = scored.median,
             .limit = gate_scored_median,
             .unit = "%",
             .note = fmt::format("p90 {:.1f} %, {} of {} off by more than 25 %", 100 * scored.p90,
                                 scored.missed, scored.rows)}};
  }

 private:
  std::vector<Recordings> recordings_;
  std::vector<Job> jobs_;
  std::map<std::string, std::vector<const Job*>> tables_;
};

}  // namespace

std::unique_ptr<Series> open_compute() {
  return std::make_unique<Compute>();
}

}  // namespace gradwire::validation
