#pragma once

#include <cstdint>
#include <ctime>

namespace gradwire::calibration {

/// Nanoseconds of the clock that every record carries: it never jumps, as CLOCK_REALTIME may.
[[nodiscard]] inline std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[nodiscard]] inline std::int64_t realtime_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace gradwire::calibration
