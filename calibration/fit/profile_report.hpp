#pragma once

#include <string>

#include "calibration/fit/profile_fit.hpp"

namespace gradwire::calibration {

/// A table of the layers (kind, forward, backward, scatter, ready, parameters), then what the
/// iteration consists of, its jitter, the checks and the notes. Times in microseconds and
/// milliseconds, as written.
[[nodiscard]] std::string profile_report(const ProfileFit& fit);

}  // namespace gradwire::calibration
