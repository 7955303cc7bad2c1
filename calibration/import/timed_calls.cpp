#include "calibration/import/timed_calls.hpp"

#include <algorithm>
#include <array>

namespace gradwire::calibration {

TimedCalls read_timed_calls(JsonMap& map) {
  const auto required = [&](const char* key) { return Seconds{map.require_above(key, 0) * 1e-6}; };
  TimedCalls calls;
  calls.calls = map.require_count("n", 1);
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
  if (const auto pipelined = map.optional_above("pipelined_us", 0)) {
    calls.pipelined = Seconds{*pipelined * 1e-6};
  }
  return calls;
}

}  // namespace gradwire::calibration
