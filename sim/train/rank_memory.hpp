#pragma once

#include <optional>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/result.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// What a rank keeps on its GPU; nothing where the profile does not know its activations.
/// Weights, gradients and optimizer in fp32; under mixed precision autocast keeps a copy of whole
/// weights in two bytes (PyTorch, torch.autocast's cache of weights). Gradients are set to None
/// after a step, so that they grow while backward frees activations; they stay from micro-batch to
/// micro-batch.
/// @param kept  micro-batches whose activations are there at once.
[[nodiscard]] std::optional<RankMemory> rank_memory(const ComputeProfile& profile,
                                                    const GpuSpec& gpu, const Holding& holding,
                                                    int micro_batches, int kept = 1);

/// Whether the peak is at most what the GPU has, as far as that is known.
[[nodiscard]] bool fits(const RankMemory& memory);

/// A warning "memory" where the peak is more than the GPU has.
[[nodiscard]] std::optional<Warning> memory_warning(const RankMemory& memory,
                                                    const ComputeProfile& profile);

}  // namespace gradwire
