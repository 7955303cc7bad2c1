#pragma once

#include "sim/config/scenario.hpp"
#include "sim/config/yaml_map.hpp"

namespace gradwire::config {

/// Reads `profile:` of a scenario into `profile` and `gpu`: a shipped name or a path;
/// {file, iteration_time, overlap}; or {model, gpu, batch_per_gpu, dtype, iteration_time, overlap}
/// where a shipped profile is of exactly these. `gpu:` beside it overrides what was measured on
/// another machine than the job's: kernel_overhead, memory_bandwidth, memory_efficiency.
void read_profile_key(YamlMap& scenario, Scenario& result);

}  // namespace gradwire::config
