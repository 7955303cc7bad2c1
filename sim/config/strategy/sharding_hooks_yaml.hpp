#pragma once

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/core/sharding_hooks.hpp"

namespace gradwire::config {

/// Those of profiles/libraries/sharding_hooks.yaml, read each time: which scenarios ask for them is
/// known then.
[[nodiscard]] ShardingHooks shipped_sharding_hooks();

/// Reads a file of the set "sharding_hooks".
void read_sharding_hooks(Constants& from, ShardingHooks& to);

}  // namespace gradwire::config
