#pragma once

#include "sim/config/scenario.hpp"
#include "sim/config/yaml_map.hpp"

namespace gradwire::config {

/// Reads `profile:` of a scenario into `profile` and `gpu`: a shipped name or a path;
/// {file, iteration_time}; or {model, gpu, batch_per_gpu, dtype, iteration_time} where a shipped
/// profile is of exactly these.
void read_profile_key(YamlMap& scenario, Scenario& result);

}  // namespace gradwire::config
