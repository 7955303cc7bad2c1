#pragma once

#include <optional>

#include "sim/core/compute_profile.hpp"
#include "sim/core/error.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/result.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// A job needs more memory than its GPUs have.
class DoesNotFit : public SimulationError {
 public:
  using SimulationError::SimulationError;
};

/// What a rank keeps on its GPU; nothing where the profile does not know its activations.
///
/// Weights and gradients are in fp32; under mixed precision autocast keeps copies of whole weights
/// in two bytes for a while (CastWeights), or the model itself is in two bytes
/// and the optimizer has its copy in fp32 (Holding::mixed), or has none (master_weights). Tensors
/// are most when forward ends, in the loss's backward, when all activations and logits are there,
/// or at the end of backward, when gradients are, or between (ComputeProfile::fullest), or in the
/// optimizer's step, which makes lists of its own or copies of gradients (Holding::step), when
/// autocast's copies are gone: gradients are set to None after a step, and stay from micro-batch to
/// micro-batch. PyTorch's caching allocator keeps the segments of what was freed and hands out
/// pieces of them (c10/cuda/CUDACachingAllocator.cpp): `slack` is what it reserves beyond the
/// tensors.
/// @param kept  micro-batches whose activations are there at once.
[[nodiscard]] std::optional<RankMemory> rank_memory(const ComputeProfile& profile,
                                                    const GpuSpec& gpu, const Holding& holding,
                                                    int micro_batches, int kept = 1);

/// Whether tensors and context are at most what the GPU has, as far as that is known. Where an
/// allocation fails the allocator gives back all segments in which nothing lies, and tries again
/// (the same file): slack alone does not keep a job from running.
[[nodiscard]] bool fits(const RankMemory& memory);

/// A warning "memory" where it does not fit, "memory-tight" where only the slack does not.
[[nodiscard]] std::optional<Warning> memory_warning(const RankMemory& memory,
                                                    const ComputeProfile& profile);

}  // namespace gradwire
