#pragma once

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/result.hpp"

namespace gradwire {

/// Adds what language models are measured in: a sample's tokens and operations (three times those
/// of the forward pass: backward has a product for the input and one for the weight), those done
/// again, and the GPU's peak in the profile's type, where all GPUs are of one type.
void add_work(const ComputeProfile& profile, const GpuSpec& gpu, bool one_type, RunResult& result);

}  // namespace gradwire
