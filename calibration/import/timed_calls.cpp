#include "calibration/import/timed_calls.hpp"

#include <algorithm>
#include <array>

namespace gradwire::calibration {

TimedCalls read_timed_calls(config::YamlMap& map) {
  const auto required = [&](const char* key) {
    return Seconds{map.require<double>(key, config::above(0.0)) * 1e-6};
  };
  TimedCalls calls;
  calls.calls = map.require<int>("n", config::at_least(1));
  calls.mean = required("mean_us");
  calls.min = required("min_us");
  calls.p50 = required("p50_us");
  calls.p95 = required("p95_us");
  calls.p99 = required("p99_us");
  calls.max = required("max_us");
  const std::array rising = {calls.min, calls.p50, calls.p95, calls.p99, calls.max};
  if (!std::ranges::is_sorted(rising)) {
    map.fail("min_us", "the percentiles fall; expected min_us <= p50_us <= ... <= max_us");
  }
  if (const auto pipelined = map.optional<double>("pipelined_us", config::above(0.0))) {
    calls.pipelined = Seconds{*pipelined * 1e-6};
  }
  return calls;
}

}  // namespace gradwire::calibration
