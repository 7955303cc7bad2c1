#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Pieces that the data of a CollNet collective go in (see tree_pieces).
constexpr int collnet_pieces = 64;

/// All-reduce in which the network's switches reduce (SHARP; NCCL's CollNetChain, v2.28.9,
/// src/device/all_reduce.h): in each machine a chain of GPUs adds up, its first GPU sends the sum
/// into the network and gets the result, which goes back down the chain. The bytes are split over
/// the NICs that plan_rings uses.
///
/// What switches exchange among themselves is not planned: each NIC carries its part once in each
/// direction. Steps: collnet_pieces, each over 2 (ranks of a machine - 1) + 1 hops.
/// Bytes per rank: 2 S at most; through the NICs of a machine S.
/// @throws SimulationError on one machine, or as plan_rings.
[[nodiscard]] Pattern plan_collnet_chain_all_reduce(const Cluster& cluster,
                                                    const Placement& members);

/// The same as NCCL's CollNetDirect: each GPU sends its part for a NIC straight to the GPU at that
/// NIC, and gets its part of the result from there.
///
/// Steps: 3 phases. Bytes per rank: 2 S at most; through the NICs of a machine S.
/// @throws SimulationError on one machine, or as plan_rings.
[[nodiscard]] Pattern plan_collnet_direct_all_reduce(const Cluster& cluster,
                                                     const Placement& members);

}  // namespace gradwire
