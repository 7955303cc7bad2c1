#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/compute_profile.hpp"

namespace gradwire {

/// A layer's backward has ended, and with it the gradients of some tensors.
struct ReadyStep {
  Seconds time;               ///< since the start of backward
  std::int64_t elements = 0;  ///< ready by then, in all
  int tensors = 0;            ///< the same
  std::int64_t new_elements = 0;
  std::string layer;
};

/// When gradients become ready in one backward pass without communication: a step for each layer
/// that brings some, in order of time.
[[nodiscard]] std::vector<ReadyStep> ready_curve(const ComputeProfile& profile);

/// The same by tensor: when each gradient is ready, since the start of backward.
[[nodiscard]] std::vector<Seconds> gradient_ready_times(const ComputeProfile& profile);

}  // namespace gradwire
