#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "calibration/attribution/attribution.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "sim/core/compute_profile.hpp"

namespace gradwire::calibration {

/// What placing them says beside the places.
struct PlacedGradients {
  std::optional<double> param_bytes;  ///< elements that were marked ready over the parameters'
  std::string note;                   ///< what a user should know; "": nothing
};

/// Puts the parameters of a workload into the layers of `profile`, by the module that holds them or
/// the mark of their gradient, with the median of when each became ready, and sets the orders in
/// which they are registered and become ready (by the last iteration's marks).
/// @param layer_at  the profile's layer of each recorded one that was not idle.
/// @throws ConfigError at `file`: a parameter of no layer, or named twice.
[[nodiscard]] PlacedGradients place_gradients(const Workload& workload,
                                              const Attribution& attribution,
                                              const std::map<std::size_t, std::size_t>& layer_at,
                                              const std::string& file, ComputeProfile& profile);

}  // namespace gradwire::calibration
