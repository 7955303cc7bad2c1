#pragma once

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// The latest instant, and the earliest below 0: 73 years, so that 1970's clock fits and the
/// difference of any two is a 64-bit number.
constexpr Nanoseconds instant_max = Nanoseconds{1} << 61U;

/// Whether a record may last from `start` to `end`.
[[nodiscard]] constexpr bool is_stretch(Nanoseconds start, Nanoseconds end) {
  return start >= -instant_max && end <= instant_max && start <= end;
}

/// Every reader of traces ends with this, so that attribution may subtract and add times and sizes.
/// @throws ConfigError  a record ends before it begins or lies beyond the latest instant, or all
/// device records together last longer than that.
void check_times(const Trace& trace);

}  // namespace gradwire::calibration
