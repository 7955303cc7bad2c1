#pragma once

#include <string>

#include "sim/core/compute_profile.hpp"

namespace gradwire {

/// A picture (SVG) of when gradients become ready: parameters ready over the time since the start
/// of backward, the layers with the most of them named.
/// REQUIRES: the profile has parameters and its backward takes time.
[[nodiscard]] std::string profile_svg(const ComputeProfile& profile);

}  // namespace gradwire
