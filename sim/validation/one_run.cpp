#include "sim/validation/one_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sim/config/yaml/overlay.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/validation/training_fit.hpp"

namespace gradwire::validation {
namespace {

constexpr const char* more_gpus = "more GPUs";
constexpr const char* other_models = "other models";
constexpr const char* other_network = "other network";
constexpr const char* time_over_other_network = "time over the other network";
constexpr const char* other_series = "other series";

constexpr std::string_view no_factor = "no time of compute meets ";

/// Either way; what is further off is no doubt of compute.
constexpr double factor_limit = 10;
/// Of the run's time, or of the factor where times jump.
constexpr double factor_tolerance = 2e-3;
constexpr int factor_steps = 12;

std::string text_at(const config::YamlValue* map, std::string_view key) {
  const config::YamlValue* value = map == nullptr ? nullptr : map->find(key);
  return value == nullptr ? "" : config::to_text(*value);
}

/// The mapping without what tells a job's size and its network.
std::string machines_of(const config::YamlValue& scenario) {
  const config::YamlValue* cluster = scenario.find("cluster");
  if (cluster == nullptr) return "";
  config::YamlValue machines = *cluster;
  std::erase_if(machines.entries, [](const config::YamlEntry& entry) {
    return entry.key == "nodes" || entry.key == "gpus_per_node" || entry.key == "fabric";
  });
  return config::to_text(machines);
}

MeasuredRun measured_run(const TrainingFile& file, const TrainingGroup& group,
                         const TrainingRow& row) {
  config::YamlValue scenario = file.scenario;
  for (const config::Override& change : row.changes) config::apply(scenario, change);
  const config::YamlValue* profile = scenario.find("profile");
  const config::YamlValue* strategy = scenario.find("strategy");
  MeasuredRun run{.file = &file, .group = &group, .row = &row, .gpu = text_at(profile, "gpu")};
  run.machines = machines_of(scenario) + run.gpu;
  run.network = text_at(scenario.find("cluster"), "fabric");
  run.stack = text_at(profile, "framework") + " " + text_at(profile, "dtype");
  run.strategy = text_at(strategy, "preset") + text_at(strategy, "name");
  run.model = text_at(profile, "model");
  run.job = text_at(&scenario, "profile") + text_at(&scenario, "strategy") +
            text_at(&scenario, "collective");
  return run;
}

/// Whether two rows differ in nothing but their size.
bool same_setup(const TrainingRow& a, const TrainingRow& b) {
  const auto same = [](const config::Override& left, const config::Override& right) {
    const bool one_place =
        left.where.line == right.where.line && left.where.column == right.where.column;
    const bool one_text = !left.value.text.empty() && left.value.text == right.value.text;
    return left.path == right.path && (one_place || one_text);
  };
  return a.model == b.model && a.method == b.method &&
         std::ranges::equal(a.changes, b.changes, same);
}

/// The scenario of a row by names alone, with a factor on its compute.
config::Scenario scenario_at(const TrainingFile& file, const TrainingRow& row, double factor) {
  FittedConstant compute;
  compute.key = FittedConstant::compute;
  return scenario_of(file, by_names_alone(row), {{&compute, factor}});
}

/// The factor on a profile's compute that meets a run, to its tolerance; nothing where none does:
/// what the GPUs wait for takes longer by itself.
std::optional<double> factor_of(const TrainingFile& file, const TrainingRow& run,
                                const Predict& predict) {
  const bool grows = file.unit == "ms" || file.unit == "x";
  const auto off_at = [&](double factor) {
    const double predicted = in_unit(predict(scenario_at(file, run, factor)), file.unit);
    return grows ? predicted / run.measured - 1 : run.measured / predicted - 1;
  };
  // A secant of times, which are nearly straight lines over the factor, needs three simulations
  // mostly; where they jump (a cycle of Horovod's more or less) the jump is closed in.
  constexpr double least = 1 / factor_limit;
  double low = 0;
  double high = 2 * factor_limit;
  double before = 0;
  double off_before = -1;
  double factor = 1;
  for (int step = 0; step < factor_steps; ++step) {
    const double off = off_at(factor);
    (off > 0 ? high : low) = factor;
    if (low == factor_limit || high == least) return std::nullopt;
    if (std::abs(off) < factor_tolerance || high - low < factor_tolerance * low) break;
    const double next = factor - off * (factor - before) / (off - off_before);
    before = factor;
    off_before = off;
    factor = std::isfinite(next) ? std::clamp(next, least, factor_limit) : 0;
    if (factor <= low || factor >= high) factor = std::clamp((low + high) / 2, least, factor_limit);
  }
  return factor;
}

/// The rows of a group as one run each tells them; a run's factor is found once.
class OneRun {
 public:
  OneRun(const TrainingFile& file, std::span<const MeasuredRun> runs, const Predict& predict)
      : file_(file), runs_(runs), predict_(predict) {}

  void add_all_of(const MeasuredRun& target) {
    const TrainingRow* smallest = smallest_run_of(*target.group, *target.row);
    if (smallest != nullptr) add(more_gpus, target, file_, smallest);
    add_other_model(target);
    add_other_network(target);
    add_other_series(target);
  }

  [[nodiscard]] std::vector<Row> rows() const { return rows_; }

 private:
  using Chosen = std::function<bool(const MeasuredRun&)>;

  [[nodiscard]] const MeasuredRun* first(const Chosen& chosen) const {
    const auto found = std::ranges::find_if(runs_, chosen);
    return found == runs_.end() ? nullptr : &*found;
  }

  void add_other_model(const MeasuredRun& target) {
    const MeasuredRun* run = first([&](const MeasuredRun& other) {
      return other.file == target.file && other.machines == target.machines &&
             other.network == target.network && other.stack == target.stack;
    });
    if (run != nullptr && run->row->model != target.row->model) {
      add(other_models, target, file_, smallest_of(*run));
    }
  }

  /// One machine alone is on no network.
  void add_other_network(const MeasuredRun& target) {
    if (target.row->nodes == 1) return;
    const auto same = [&](const MeasuredRun& other) {
      return other.file == target.file && other.machines == target.machines &&
             other.row->model == target.row->model && other.job == target.job &&
             other.row->nodes > 1;
    };
    const MeasuredRun* run = first(same);
    if (run == nullptr || run->network == target.network) return;
    const std::string& network = run->network;
    for (const MeasuredRun& other : runs_) {
      const bool fits = same(other) && other.network == network;
      if (fits && other.row->gpus() < run->row->gpus()) run = &other;
    }
    add(other_network, target, file_, run->row);
    row_of(time_over_other_network, target).predicted = in_time_of(file_, *run->row, *target.row);
  }

  void add_other_series(const MeasuredRun& target) {
    if (target.gpu.empty()) return;
    const auto elsewhere = [&](const MeasuredRun& other) {
      return other.file != target.file && other.stack == target.stack;
    };
    const auto on_machines = [&](const MeasuredRun& other) {
      return elsewhere(other) && other.machines == target.machines;
    };
    const auto of_system = [&](const MeasuredRun& other) {
      return elsewhere(other) && other.gpu == target.gpu && other.strategy == target.strategy;
    };
    for (const Chosen& chosen : {Chosen(on_machines), Chosen(of_system)}) {
      const MeasuredRun* run = nullptr;
      const auto better = [&](const MeasuredRun& one, const MeasuredRun& other) {
        const bool same_model = one.model == target.model;
        if (same_model != (other.model == target.model)) return same_model;
        return one.row->gpus() < other.row->gpus();
      };
      for (const MeasuredRun& other : runs_) {
        if (chosen(other) && (run == nullptr || better(other, *run))) run = &other;
      }
      if (run != nullptr) return add(other_series, target, *run->file, run->row);
    }
  }

  [[nodiscard]] static const TrainingRow* smallest_of(const MeasuredRun& run) {
    const TrainingRow* smallest = smallest_run_of(*run.group, *run.row);
    return smallest == nullptr ? run.row : smallest;
  }

  Row& row_of(const char* known, const MeasuredRun& target) {
    return rows_.emplace_back(Row{.group = known,
                                  .label = target.row->id,
                                  .role = "score",
                                  .unit = file_.unit,
                                  .measured = target.row->measured});
  }

  void add(const char* known, const MeasuredRun& target, const TrainingFile& file,
           const TrainingRow* run) {
    Row& row = row_of(known, target);
    row.how = run->id;
    try {
      const std::optional<double> factor = factor_to(file, *run);
      if (!factor) {
        row.failure = fmt::format("{}{}", no_factor, run->id);
        return;
      }
      row.predicted = in_unit(predict_(scenario_at(file_, *target.row, *factor)), file_.unit);
    } catch (const std::runtime_error& error) {
      row.failure = error.what();
    }
  }

  std::optional<double> factor_to(const TrainingFile& file, const TrainingRow& run) {
    const auto found = factors_.find(&run);
    if (found != factors_.end()) return found->second;
    return factors_[&run] = factor_of(file, run, predict_);
  }

  const TrainingFile& file_;
  std::span<const MeasuredRun> runs_;
  const Predict& predict_;
  std::map<const TrainingRow*, std::optional<double>> factors_;
  std::vector<Row> rows_;
};

/// What is compared in a column of the section, on the rows that both have.
struct Beside {
  const char* known;
  const char* null;
};
constexpr std::array<Beside, 4> besides = {{{more_gpus, smallest_run},
                                            {other_models, names_alone},
                                            {other_network, time_over_other_network},
                                            {other_series, names_alone}}};

constexpr const char* one_run_introduction = R"(
## What one measured run gains

The same rows as one measured run tells them: the time of compute, one factor on what names alone say of it, is set so that
this run is met, and nothing else is fitted. Which run:

- *more GPUs*: the smallest of the same job;
- *other models*: the smallest of the first job that the series has on the same machines and network, in the same framework
  and number type;
- *another network*: the smallest of the same job on the same machines over the network that the series names first, both on more
  than one of them;
- *another series*: the smallest of all on the same machines in other series (where there is none: on the same GPU under
  the same strategy), in the same framework and number type, of the same model where there is one.

Median and 90th percentile of the |error|; beside them, on the same rows, the measured run's own time (needs no simulator) or names
alone (no measured run), and the skill, one less the ratio of the medians. Empty: the series has no such rows.

| series | more GPUs | its time | skill | other models | names alone | skill | another network | its time | skill | another series | names alone | skill |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
)";

std::string both(const Errors& errors) {
  return fmt::format("{:.1f}, {:.1f} %", 100 * errors.median, 100 * errors.p90);
}

void append_cells(std::string& text, const std::string& name, std::span<const Row> rows) {
  text += fmt::format("| {} ", name);
  for (const auto& [known, null] : besides) {
    const Errors errors = errors_in(rows, known);
    if (errors.rows == errors.failed) {
      text += "| | | ";
      continue;
    }
    const Errors without = errors_where(rows, null, known);
    const std::string skill =
        without.median > 0 ? fmt::format("{:+.2f} ", 1 - errors.median / without.median) : "";
    text += fmt::format("| {} of {} | {} | {}", both(errors), errors.rows - errors.failed,
                        both(without), skill);
  }
  text += "|\n";
}

/// `profile.iteration_time`, and what it counts.
bool tells_time(const config::Override& change) {
  return change.path.starts_with("profile.iteration_");
}

}  // namespace

bool knows_one_gpu(const TrainingRow& row) {
  return row.single_gpu > 0 || std::ranges::any_of(row.changes, tells_time);
}

TrainingRow by_names_alone(TrainingRow row) {
  row.single_gpu = 0;
  std::erase_if(row.changes, tells_time);
  return row;
}

const TrainingRow* smallest_run_of(const TrainingGroup& group, const TrainingRow& row) {
  const TrainingRow* smallest = nullptr;
  for (const TrainingRow& other : group.rows) {
    if (!same_setup(other, row) || other.gpus() >= row.gpus()) continue;
    if (smallest == nullptr || other.gpus() < smallest->gpus()) smallest = &other;
  }
  return smallest;
}

double in_time_of(const TrainingFile& file, const TrainingRow& run, const TrainingRow& row) {
  const bool of_all = file.unit == "samples/s" || file.unit == "x";
  return run.measured * (of_all ? static_cast<double>(row.gpus()) / run.gpus() : 1);
}

std::vector<MeasuredRun> measured_runs(std::span<const TrainingFile> files) {
  std::vector<MeasuredRun> runs;
  for (const TrainingFile& file : files) {
    for (const TrainingGroup& group : file.groups) {
      for (const TrainingRow& row : group.rows) {
        if (row.role != "show") runs.push_back(measured_run(file, group, row));
      }
    }
  }
  return runs;
}

std::vector<Row> one_run_rows(const TrainingFile& file, const TrainingGroup& group,
                              std::span<const MeasuredRun> runs, const Predict& predict) {
  OneRun told(file, runs, predict);
  for (const MeasuredRun& run : runs) {
    if (run.group == &group && run.row->role == "score") told.add_all_of(run);
  }
  return told.rows();
}

std::string one_run_section(std::span<const SeriesReport> reports) {
  std::string text = one_run_introduction;
  std::vector<Row> all;
  std::size_t without = 0;
  std::string where;
  for (const SeriesReport& report : reports) {
    append_cells(text, markdown_name(report.name), report.rows);
    std::size_t here = 0;
    for (Row row : report.rows) {
      here += row.failure.starts_with(no_factor) ? 1U : 0U;
      row.label = report.name + " " + row.label;
      all.push_back(std::move(row));
    }
    if (here > 0) where += fmt::format("{}{} {}", where.empty() ? "" : ", ", report.name, here);
    without += here;
  }
  append_cells(text, "**all**", all);
  if (without > 0) {
    text += fmt::format(
        "\nNo time of compute meets the measured run of {} more of them ({}): what GPUs wait for "
        "is predicted to take longer.\n",
        without, where);
  }
  return text;
}

}  // namespace gradwire::validation
