#pragma once

#include <span>

#include "sim/core/compute_profile.hpp"

namespace gradwire {

/// A profile and how many of all batches it is of.
struct WeightedProfile {
  ComputeProfile profile;
  double share = 0;
};

/// The mean iteration of batches of one model that differ in the length of their sequences: times,
/// operations and rows of tables are means by share; memory is that of the batch that keeps most.
/// REQUIRES: at least one; shares add up to 1; profiles of one model, GPU, type and batch with
/// `launches` in each layer or in none.
[[nodiscard]] ComputeProfile mean_profile(std::span<const WeightedProfile> of);

}  // namespace gradwire
