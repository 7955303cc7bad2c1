#pragma once

#include <string>

#include "sim/core/compute_profile.hpp"

namespace gradwire {

/// A compute profile for reading: where it comes from, its totals, how gradients become
/// ready, and a line a layer.
[[nodiscard]] std::string profile_text(const ComputeProfile& profile);

/// What it is of, in one line.
[[nodiscard]] std::string profile_title(const ComputeProfile& profile);

}  // namespace gradwire
