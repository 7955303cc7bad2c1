#include "sim/validation/training_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire::validation {
namespace {

/// Of a constant's logarithm, which is a thousandth of the constant; in so many steps at most.
constexpr int fit_bits = 16;
constexpr std::uintmax_t fit_steps = 12;
/// Several constants are fitted in turn, so often.
constexpr int fit_turns = 3;

config::Override change(const std::string& key, const std::string& value) {
  const std::string file = "results/reference: " + key;
  return {key, {file, 1, 1}, config::parse_yaml(value, file)};
}

bool counts_for(const FittedConstant& constant, const TrainingRow& row) {
  const auto& methods = constant.methods;
  return (constant.model.empty() || constant.model == row.model) &&
         (methods.empty() || std::ranges::find(methods, row.method) != methods.end());
}

bool fitted_to(const FittedConstant& constant, const TrainingRow& row) {
  return row.role == "calibrate" && counts_for(constant, row) &&
         (constant.method.empty() || constant.method == row.method);
}

/// Nothing where the row cannot be predicted.
std::optional<double> predicted(const TrainingFile& file, const TrainingRow& row,
                                const std::vector<FittedValue>& values, const Predict& predict) {
  try {
    return in_unit(predict(scenario_of(file, row, values)), file.unit);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

/// Squared errors (of logarithms) of the calibration rows of constants, and how to make them least.
class Fit {
 public:
  Fit(const TrainingFile& file, const std::vector<const TrainingRow*>& rows, const Predict& predict,
      const std::vector<FittedValue>& known)
      : file_(file), rows_(rows), predict_(predict), known_(known.size()), values_(known) {}

  /// From the constants' values in `start` on, one after the other, `turns` times.
  void run(const std::vector<FittedValue>& start, int turns) {
    values_.resize(known_);
    values_.insert(values_.end(), start.begin(), start.end());
    for (int turn = 0; turn < turns; ++turn) {
      for (std::size_t i = known_; i < values_.size(); ++i) {
        const FittedConstant& constant = *values_[i].constant;
        const auto of_this = [&](const TrainingRow& row) { return fitted_to(constant, row); };
        const auto error_at = [&](double log) {
          values_[i].value = std::exp(log);
          return squares(of_this);
        };
        std::uintmax_t steps = fit_steps;
        const auto [least, error] = boost::math::tools::brent_find_minima(
            error_at, std::log(constant.low), std::log(constant.high), fit_bits, steps);
        values_[i].value = std::exp(least);
      }
    }
  }

  [[nodiscard]] double squares() const {
    return squares([&](const TrainingRow& row) {
      return std::any_of(values_.begin() + static_cast<std::ptrdiff_t>(known_), values_.end(),
                         [&](const FittedValue& v) { return fitted_to(*v.constant, row); });
    });
  }

  [[nodiscard]] const std::vector<FittedValue>& values() const { return values_; }

 private:
  template <class Counts>
  [[nodiscard]] double squares(const Counts& counts) const {
    double sum = 0;
    for (const TrainingRow* row : rows_) {
      if (!counts(*row)) continue;
      const auto found = predicted(file_, *row, values_, predict_);
      if (!found) return std::numeric_limits<double>::infinity();
      sum += std::pow(std::log(*found / row->measured), 2);
    }
    return sum;
  }

  const TrainingFile& file_;
  const std::vector<const TrainingRow*>& rows_;
  const Predict& predict_;
  std::size_t known_;  ///< values that stay as they are
  std::vector<FittedValue> values_;
};

/// Adds these constants to `values`, which stay as they are, fitted to the calibration rows. Where
/// there are several the least that is found depends on where it begins: in the middle of all, or
/// with nothing that limits (their highest).
void fit(const TrainingFile& file, const std::vector<FittedConstant>& constants,
         const std::vector<const TrainingRow*>& rows, const Predict& predict,
         std::vector<FittedValue>& values) {
  if (constants.empty()) return;
  std::vector<FittedValue> middle;
  std::vector<FittedValue> highest;
  for (const FittedConstant& constant : constants) {
    middle.push_back({&constant, std::sqrt(constant.low * constant.high)});
    highest.push_back({&constant, constant.high});
  }
  Fit best(file, rows, predict, values);
  best.run(middle, constants.size() > 1 ? fit_turns : 1);
  if (constants.size() > 1) {
    Fit other(file, rows, predict, values);
    other.run(highest, fit_turns);
    if (other.squares() < best.squares()) {
      values = other.values();
      return;
    }
  }
  values = best.values();
}

std::string text_of(const std::vector<FittedValue>& values, const TrainingRow& row) {
  std::string text;
  for (const FittedValue& value : values) {
    if (!counts_for(*value.constant, row)) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", value.constant->key, value.text());
  }
  return text;
}

}  // namespace

std::string FittedValue::text() const {
  return fmt::format("{:.4g}{}", value, constant->unit);
}

config::Scenario scenario_of(const TrainingFile& file, const TrainingRow& row,
                             const std::vector<FittedValue>& values) {
  std::vector<config::Override> changes = row.changes;
  changes.push_back(change("cluster.nodes", std::to_string(row.nodes)));
  changes.push_back(change("cluster.gpus_per_node", std::to_string(row.gpus_per_node)));
  double factor = 1;
  for (const FittedValue& value : values) {
    if (!counts_for(*value.constant, row)) continue;
    if (value.constant->key == FittedConstant::compute) {
      factor = value.value;
    } else {
      changes.push_back(change(value.constant->key, value.text()));
      changes.back().where = value.constant->where;
    }
  }
  if (row.single_gpu == 0 && factor == 1) return config::read_scenario(file.scenario, changes);
  std::vector<config::Override> untimed = changes;  // read for the batch, or for its own time
  std::erase_if(untimed, [](const config::Override& one) {
    return one.path.starts_with("profile.iteration_strategy");
  });
  const config::Scenario scenario = config::read_scenario(file.scenario, untimed);
  const double own = row.single_gpu > 0 ? scenario.profile->batch_per_gpu / row.single_gpu
                                        : scenario.profile->iteration.count();
  changes.push_back(change("profile.iteration_time", fmt::format("{:.6f} ms", 1e3 * own * factor)));
  return config::read_scenario(file.scenario, changes);
}

double in_unit(const RunResult& result, const std::string& unit) {
  if (is_memory(unit)) {
    if (!result.memory) throw SimulationError("nobody knows what a GPU keeps of this job");
    constexpr double gib = 1024.0 * 1024 * 1024;
    const double slack = unit == memory_unit ? result.memory->slack : 0;
    return (result.memory->allocated + slack) / gib;
  }
  if (unit == "ms") {
    return 1e3 * PooledSamples(result.samples, result.sample_weight).percentile(50);
  }
  const double iteration = mean(result.iteration_s);
  if (unit == "x") return result.world_size * result.single_gpu_iteration_s / iteration;
  const double rate = static_cast<double>(global_batch(result)) / iteration;
  assert(unit == "samples/s" || unit == "samples/s/GPU");
  return unit == "samples/s" ? rate : rate / result.world_size;
}

std::vector<FittedValue> fit_group(const TrainingFile& file, const TrainingGroup& group,
                                   const Predict& predict) {
  std::vector<FittedValue> values;
  std::vector<const TrainingRow*> rows;
  for (const TrainingGroup& each : file.groups) {
    for (const TrainingRow& row : each.rows) rows.push_back(&row);
  }
  fit(file, file.fitted, rows, predict, values);
  rows.clear();
  for (const TrainingRow& row : group.rows) rows.push_back(&row);
  fit(file, group.fitted, rows, predict, values);
  return values;
}

std::vector<Row> predict_group(const TrainingFile& file, const TrainingGroup& group,
                               const std::vector<FittedValue>& values, const Predict& predict) {
  std::vector<Row> rows;
  for (const TrainingRow& measured : group.rows) {
    const auto gate = std::ranges::find(file.gates, measured.gate, &TrainingGate::name);
    const bool gated = measured.role == "score" && gate != file.gates.end();
    assert(gated || measured.role != "score" || measured.gate.empty());
    Row row{.group = group.name,
            .gate = measured.gate,
            .label = fmt::format("{} {}, {}", measured.id, measured.method,
                                 measured.compared.substr(group.name.size() + 2)),
            .how = text_of(values, measured),
            .role = measured.role,
            .unit = file.unit,
            .measured = measured.measured,
            .spread = measured.spread,
            .limit = gated ? gate->row_limit() : 0,
            .compared = measured.role == "show" ? "" : measured.compared,
            .missing = measured.missing};
    try {
      const RunResult result = predict(scenario_of(file, measured, values));
      row.predicted = in_unit(result, file.unit);
      if (!is_memory(file.unit)) {
        row.set_interval({result.spread_low, result.spread_high});
        row.doubts = result.doubts;
      }
    } catch (const std::runtime_error& error) {
      row.failure = error.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gradwire::validation
