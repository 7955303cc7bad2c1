#pragma once

#include <optional>
#include <string_view>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// Nanoseconds of a number of microseconds as JSON writes it: "1712195495519689.125" exactly, which
/// a double cannot hold. Further digits are cut off. Absent for what is no number, or from 2^61 on.
[[nodiscard]] std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds);

}  // namespace gradwire::calibration
