#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// Time of a ring all-reduce alone on equal links: 2(n-1) (alpha + size / (n rate)).
/// @param alpha  latency of a step.
/// @param rate   of the slowest hop, all channels together: what nccl-tests calls bus bandwidth.
/// REQUIRES: ranks >= 1, rate > 0.
[[nodiscard]] Seconds ring_all_reduce_time(int ranks, Bytes size, Seconds alpha,
                                           BytesPerSecond rate);

/// Time of a broadcast down a chain in equal pieces, alone on equal links: the first piece takes
/// n-1 rounds, each other one round more: (n-1 + pieces-1) (alpha + size / (pieces rate)).
/// @param alpha  latency of a round.
/// @param rate   of the slowest hop, all channels together.
/// REQUIRES: ranks >= 1, pieces >= 1, rate > 0.
[[nodiscard]] Seconds chain_broadcast_time(int ranks, int pieces, Bytes size, Seconds alpha,
                                           BytesPerSecond rate);

}  // namespace gradwire
