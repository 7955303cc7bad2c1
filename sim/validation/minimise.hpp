#pragma once

#include <functional>

namespace gradwire::validation {

/// The least point of a function that falls and then rises, by golden sections.
/// REQUIRES: low < high, steps >= 1.
/// @return a point at most 0.62^steps * (high - low) / 2 away from it.
[[nodiscard]] double minimise(double low, double high, int steps,
                              const std::function<double(double)>& value);

}  // namespace gradwire::validation
