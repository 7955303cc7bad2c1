#pragma once

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/core/tensorflow_servers.hpp"

namespace gradwire::config {

/// Those of profiles/libraries/tensorflow_servers.yaml, read each time: which scenarios ask for
/// them is known then.
[[nodiscard]] TensorflowServers shipped_tensorflow_servers();

/// Reads a file of the set "tensorflow_servers".
void read_tensorflow_servers(Constants& from, TensorflowServers& to);

}  // namespace gradwire::config
