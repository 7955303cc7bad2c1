#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Pieces in which a channel's bytes pass down the chain. Our choice: NCCL forwards 512 KiB at a
/// time with the Simple protocol (4 MiB of buffer a channel in NCCL_STEPS = 8 slots,
/// BROADCAST_CHUNKSTEPS = 1) and single lines with LL and LL128, so the count follows the size; a
/// pattern knows no size. 64 is what Simple gives for 128 MiB over 4 channels; filling the chain
/// then costs (n-2)/64 of the time that the bytes take.
constexpr int chain_pieces = 64;

/// Broadcast from rank 0 along the rings of plan_rings, the bytes split evenly over them: each rank
/// passes every piece on to the next one of its ring, the last one to nobody.
///
/// Steps: chain_pieces, each over n-1 hops.
/// Bytes per rank: the size, received once; sent once by all but the last of each channel. For
/// n = 1 there is no phase.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_broadcast(const Cluster& cluster, const Placement& members);

/// Reduce to rank 0 along the same chains backwards: each rank adds its own to every piece and
/// passes it on towards the root.
///
/// Steps: chain_pieces, each over n-1 hops.
/// Bytes per rank: the size, sent once; received once by all but the first of each channel.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_chain_reduce(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
