#pragma once

#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// Reduced or spread by the switches of a machine.
[[nodiscard]] constexpr bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
}

/// us that all bytes take on the NVLinks, in loops over the chunks that are under way at once. 0 of
/// no bytes. REQUIRES: is_nvls.
[[nodiscard]] double nccl_nvls_links(const NcclConstants& constants, const NcclSystem& system,
                                     const NcclQuestion& question, const NcclFacts& facts);

/// us that the first chunks of an NVLS or NVLSTree take to pass its stages, of which one, the
/// slowest, is in the time for all bytes; 0 of other algorithms. NVLS: into the switches, through
/// them, out of them, over the same links; NVLSTree: into and out of the switches, half the bytes
/// each way, to be reduced and to be spread, up and down the levels.
/// @param levels   of a tree over the machines.
/// @param network  seconds for a byte of the size between machines.
[[nodiscard]] double nccl_nvls_fill(const NcclConstants& constants, const NcclSystem& system,
                                    const NcclQuestion& question, const NcclFacts& facts,
                                    int levels, Seconds network);

}  // namespace gradwire
