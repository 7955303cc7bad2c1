#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Time of the copies that a library of host memory makes of a collective on GPU tensors: what goes
/// in to host memory before, what comes out back to the GPU after, over the slowest of the
/// machines' PCIe routes between GPU and host memory. Nothing of another rank's is waited for.
[[nodiscard]] Seconds host_copies(CollectiveKind kind, int ranks, Bytes size,
                                  BytesPerSecond copy_rate);

/// The slowest way between the first GPU of a machine and its host memory.
[[nodiscard]] BytesPerSecond slowest_host_copy(const Cluster& cluster);

}  // namespace gradwire
