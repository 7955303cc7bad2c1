#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"

namespace gradwire::validation {

/// A constant of a group with the value that it takes.
struct FittedValue {
  const FittedConstant* constant = nullptr;
  double value = 0;  ///< in the constant's unit

  [[nodiscard]] std::string text() const;  ///< "0.93 GB/s"
};

/// The scenario of a row: the file's, the row's changes, its number of GPUs, the constants of its
/// model, and the iteration's time on one GPU.
/// @throws ConfigError for what scenarios do not know.
[[nodiscard]] config::Scenario scenario_of(const TrainingFile& file, const TrainingRow& row,
                                           const std::vector<FittedValue>& values);

/// What a simulated run gives, in the file's unit. REQUIRES: unit is one of training_units().
[[nodiscard]] double in_unit(const RunResult& result, const std::string& unit);

/// Fits the file's constants to all rows with role calibrate, then the group's to its own: the
/// least sum of squared logarithms of predicted over measured, one constant after the other. Rows
/// that cannot be predicted count not. Without constants there is nothing to do.
[[nodiscard]] std::vector<FittedValue> fit_group(const TrainingFile& file,
                                                 const TrainingGroup& group,
                                                 const Predict& predict);

/// The rows of a group as predicted with these constants.
[[nodiscard]] std::vector<Row> predict_group(const TrainingFile& file, const TrainingGroup& group,
                                             const std::vector<FittedValue>& values,
                                             const Predict& predict);

}  // namespace gradwire::validation
