#pragma once

#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/report/elastic.hpp"

namespace gradwire::cli {

/// What the changes of a job's workers take: each half is simulated in front of an iteration of the
/// workers that do it, and is what the iteration takes longer by.
/// @param phases  of one job, in order. REQUIRES: each has `elastic`.
/// @throws SimulationError
[[nodiscard]] ElasticRun elastic_run(const std::vector<config::Scenario>& phases);

}  // namespace gradwire::cli
