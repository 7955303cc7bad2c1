#pragma once

#include "sim/config/scenario.hpp"
#include "sim/config/yaml_map.hpp"

namespace gradwire::config {

/// How ranks differ: `jitter`, `stragglers` and `uneven_inputs` of a scenario whose profile,
/// placement and run have been read.
/// @throws ConfigError also where no rank has inputs to the run's end.
void read_ranks(YamlMap& map, Scenario& scenario);

}  // namespace gradwire::config
