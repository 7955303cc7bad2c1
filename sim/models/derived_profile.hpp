#pragma once

#include <string>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"

namespace gradwire {

// Each derivation adds its own of GpuSpec::errors to ComputeProfile::model_error (root of the
// squares).

/// The profile as another GPU would run it: every layer's time by the ratio of what kernel_time()
/// gives for its work on the two, the optimizer's by the ratio of memory bandwidths. Host work
/// stays. A layer's work is read from its FLOPs and the shape of its weights; of a layer without
/// them the recorded time counts as memory traffic. Source kind "derived"; the notes say from what.
/// REQUIRES: `profile` is of `from`; both support its dtype.
[[nodiscard]] ComputeProfile derived_for_gpu(ComputeProfile profile, const GpuSpec& from,
                                             const GpuSpec& to);

/// The profile with another batch on the same GPU. REQUIRES: batch >= 1; `gpu` is the profile's.
[[nodiscard]] ComputeProfile derived_for_batch(ComputeProfile profile, const GpuSpec& gpu,
                                               int batch);

/// Between two recordings of one model on one GPU in one type: every time on the straight line
/// through the two batches. Outside them the line goes on, and the error is that of
/// derived_for_batch. REQUIRES: equal layers, different batches; `gpu` is the profiles'.
[[nodiscard]] ComputeProfile interpolated_for_batch(const ComputeProfile& one,
                                                    const ComputeProfile& other, const GpuSpec& gpu,
                                                    int batch);

/// The profile with another type on the same GPU; fp16 and bf16 are mixed precision, whose casts
/// of the weights are charged. REQUIRES: `gpu` is the profile's and supports `dtype`.
[[nodiscard]] ComputeProfile derived_for_dtype(ComputeProfile profile, const GpuSpec& gpu,
                                               const std::string& dtype);

}  // namespace gradwire
