#pragma once

#include <vector>

#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/result.hpp"

namespace gradwire::config {

/// Tells where an original system's variable that counts machines or GPUs (DMLC_NUM_WORKER,
/// BYTEPS_LOCAL_SIZE) says another number than the cluster, which counts.
/// @param strategy  as written, with the originals' names.
/// @throws ConfigError for a value that is no number.
void check_cluster_variables(const YamlValue& strategy, const Placement& placement,
                             std::vector<Warning>& warnings);

}  // namespace gradwire::config
