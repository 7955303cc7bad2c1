#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// What TensorFlow's parameter servers cost their workers beside calls and copies. Read from
/// profiles/libraries/tensorflow_servers.yaml, with its sources.
struct TensorflowServers {
  /// Of a worker's process, for each variable (or part of one) that it takes over from any server
  /// once there are several machines: its token, its read and its assignment, one after the other.
  Seconds variable_time;
};

}  // namespace gradwire
