#pragma once

#include <string>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// results/reference/collectives.md: gates, what others reach, a line a table, what misses and why,
/// every row. The same report gives the same bytes.
[[nodiscard]] std::string collectives_page(const config::CollectiveMeasurements& measured,
                                           const SeriesReport& report);

}  // namespace gradwire::validation
