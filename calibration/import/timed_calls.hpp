#pragma once

#include <optional>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/units.hpp"

namespace gradwire::calibration {

/// How the calls of one row of a benchmark spread: each timed by itself.
struct TimedCalls {
  int calls = 0;
  Seconds mean;
  Seconds min;
  Seconds p50;
  Seconds p95;
  Seconds p99;
  Seconds max;
  std::optional<Seconds> pipelined;  ///< mean of calls started one behind the other
};

/// Reads n, mean_us, min_us, p50_us, p95_us, p99_us, max_us and, where it is, pipelined_us.
/// @throws ConfigError when one is missing or percentiles fall.
[[nodiscard]] TimedCalls read_timed_calls(config::YamlMap& map);

}  // namespace gradwire::calibration
