#pragma once

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"

namespace gradwire::config {

/// A recording for another batch: on the line through it and the nearest batch of the same job that
/// ships, else derived from it alone.
/// @param gpu  that it was recorded on. @throws ConfigError of the other recording's file.
[[nodiscard]] ComputeProfile with_batch(ComputeProfile profile, const GpuSpec& gpu, int batch);

}  // namespace gradwire::config
