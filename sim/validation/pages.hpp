#pragma once

#include <span>
#include <string>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/validation/report.hpp"
#include "sim/validation/training_file.hpp"

namespace gradwire::validation {

/// results/reference/collectives.md: gates, what others reach, a line a table, what misses and why,
/// every row. The same report gives the same bytes.
[[nodiscard]] std::string collectives_page(const config::CollectiveMeasurements& measured,
                                           const SeriesReport& report);

/// results/reference/constants.md: every constant that shapes a prediction, once, with its value,
/// unit, source and kind, and the series of `gradwire validate` that use it. Collected from the
/// data files, the tables of links and frameworks, and the catalogue of strategies.
/// @param reports  of series, for the values of what they fit.
/// @throws ConfigError at the place in a file.
[[nodiscard]] std::string constants_page(std::span<const SeriesReport> reports);

/// The head of results/reference/training.md: what it is, and a line a series.
/// @param total  of training_total.
[[nodiscard]] std::string training_head(std::span<const SeriesReport> reports,
                                        const SeriesReport& total);

/// A series' section: source, gates, what was fitted, misses by mechanism, every row. The same
/// report gives the same bytes.
[[nodiscard]] std::string training_section(const TrainingFile& file, const SeriesReport& report);

}  // namespace gradwire::validation
