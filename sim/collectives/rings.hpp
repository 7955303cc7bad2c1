#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// A closed walk over all ranks: the way of one channel.
struct RankRing {
  std::vector<int> order;  ///< ranks; the last is followed by the first
  std::vector<int> nic;   ///< [i]: NIC of order[i]'s machine that this ring uses; -1 on one machine
  std::vector<int> exit;  ///< [i]: GPU of that machine through which this ring leaves it; -1 on one
                          ///< machine
};

/// The rings that NCCL would lay through the machines of these ranks.
///
/// On one machine: as many rings as its NVLinks give (find_rings); where they give none, one ring
/// over whatever joins the GPUs, each GPU followed by the nearest that is left (then by index).
/// On several: one ring for each NIC that is nearest to a taking-part GPU, machine after machine in
/// the order in which the ranks name them. In each machine it comes in and goes out by that NIC,
/// begins and ends at the GPUs nearest to it, and shares no lane with the rings of other NICs;
/// rings of equally near NICs begin at different GPUs, each at one whose own NIC it is. A last GPU
/// that is farther from the NIC than the first, but has NVLink to it, sends through it where the
/// cluster's GPUs relay. Where NVLink gives no such path, or is an NVSwitch, it goes to the nearest
/// GPU that is left, as on one machine. Machines may have unequal numbers of ranks; the machine
/// with the fewest rings decides how many there are.
///
/// @return none for fewer than two ranks.
/// @throws SimulationError when two ranks share a GPU, or one of several machines has no NIC.
[[nodiscard]] std::vector<RankRing> plan_rings(const Cluster& cluster, const Placement& members);

/// A pattern over these ranks without a phase.
[[nodiscard]] Pattern start_pattern(CollectiveKind kind, const std::string& algorithm,
                                    const Placement& members, std::size_t channels);

/// Appends a phase in which every rank passes 1/n of each channel's bytes on `steps` times, all
/// around the rings. REQUIRES: the pattern has a channel for each ring.
void append_rings(const Cluster& cluster, const Placement& members,
                  const std::vector<RankRing>& rings, int steps, Pattern& pattern);

}  // namespace gradwire
