#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Do NVSwitches join all of these GPUs of each machine, two or more in each? Whether the switches
/// can reduce depends on the GPUs (NVLink SHARP: compute capability 9.0 and later), which a cluster
/// does not say: whoever plans asks for that.
[[nodiscard]] bool has_nvswitch(const Cluster& cluster, const Placement& members);

/// Collectives of one machine through NVSwitches that reduce and multicast (NVLink SHARP): NCCL's
/// NVLS (v2.28.9, src/device/all_reduce.h). Each GPU owns 1/n of the result. A reduction reads the
/// owned part from every GPU through the switch, which passes on the sum; a multicast is sent once
/// and comes out at every GPU.
///
/// All-reduce: every GPU's links carry S and S/n in each direction. Steps: 2.
/// Reduce-scatter: S out of each GPU, S/n into it. Steps: 1.
/// All-gather: S/n out of each GPU, S into it. Steps: 1.
/// @throws SimulationError on several machines, or where has_nvswitch is false.
[[nodiscard]] Pattern plan_nvls_all_reduce(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_nvls_reduce_scatter(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_nvls_all_gather(const Cluster& cluster, const Placement& members);

/// All-reduce by NVLS inside each machine and a double binary tree (plan_tree_all_reduce) between
/// the machines, each NIC carrying its part. Both go on at the same time, piece by piece.
///
/// Steps: tree_pieces, each over 2 depth hops at most. Bytes per rank: (1 + 1/g) S inside a machine
/// of g GPUs; through the NICs of a machine 2 S at most.
/// @throws SimulationError on one machine, where has_nvswitch is false, or as plan_rings.
[[nodiscard]] Pattern plan_nvls_tree_all_reduce(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
