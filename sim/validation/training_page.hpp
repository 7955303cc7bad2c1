#pragma once

#include <span>
#include <string>

#include "sim/validation/report.hpp"
#include "sim/validation/training_file.hpp"

namespace gradwire::validation {

/// The head of results/reference/training.md: what it is, and a line a series.
/// @param total  of training_total.
[[nodiscard]] std::string training_head(std::span<const SeriesReport> reports,
                                        const SeriesReport& total);

/// A series' section: source, gates, what was fitted, misses by mechanism, every row. The same
/// report gives the same bytes.
[[nodiscard]] std::string training_section(const TrainingFile& file, const SeriesReport& report);

}  // namespace gradwire::validation
