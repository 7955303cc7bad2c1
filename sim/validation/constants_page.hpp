#pragma once

#include <span>
#include <string>

#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// results/reference/constants.md: every constant that shapes a prediction, once, with its value,
/// unit, source and kind, and the series of `gradwire validate` that use it. Collected from the
/// data files, the tables of links and frameworks, and the catalogue of strategies.
/// @param reports  of series, for the values of what they fit.
/// @throws ConfigError at the place in a file.
[[nodiscard]] std::string constants_page(std::span<const SeriesReport> reports);

}  // namespace gradwire::validation
