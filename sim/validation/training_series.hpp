#pragma once

#include <memory>
#include <span>
#include <string>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// results/reference/NAME.yaml: published rates of training jobs. Compute is calibrated on the
/// rates of one GPU, and what the file names on its rows with role calibrate; the other rows are
/// predicted. Page: a section of training.md.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::unique_ptr<Series> open_training(const std::string& name,
                                                    const Predict& predict);

/// What is claimed of all series that share training.md: how often two ways to train on the same
/// machines are ranked as measured, at least 90 % of those that differ by more than 5 %.
/// @return a report without rows; its gate is not known where there is no pair.
[[nodiscard]] SeriesReport training_total(std::span<const SeriesReport> reports);

}  // namespace gradwire::validation
