#pragma once

#include <optional>

#include "sim/cost/collective_cost.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// What NCCL's kernel takes of each GPU, from its source; nothing here is fitted.
///
/// Blocks: one for each channel, and a graph's channels are laid twice (src/graph/connect.cc,
/// ncclTopoPostset), up to 32 (src/include/nccl_common.h, MAXCHANNELS); those of a switch that
/// reduces are not. A small collective takes fewer, and is over soon: not counted.
///
/// Traffic: each byte that comes is written into a buffer and read from it; beside that the rank's
/// own part is read once and what it gets is written once (src/device/all_reduce.h, Simple). An
/// all-reduce ring so moves (6 - 4/n) x size, 3 bytes for each on the wire when n is large, as
/// NCCL's author counts (GitHub NVIDIA/nccl issue 1428). LL sends a flag with each word and LL128 8
/// bytes with 120.
/// @param channels_max  NCCL_MAX_NCHANNELS.
/// @param channels_min  NCCL_MIN_NCHANNELS: rings are laid again over the same links.
[[nodiscard]] KernelUse nccl_kernel(const NcclSystem& system, const NcclQuestion& question,
                                    std::optional<int> channels_max, int channels_min = 1);

}  // namespace gradwire
