#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/collectives/rank_flows.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Pieces that a tree's data go in: as many as a chain's (see chain_pieces). Priced libraries state
/// the time of the whole; then only the shape counts.
constexpr int tree_pieces = 64;

/// The two binary trees that a double tree consists of.
enum class DoubleTree : std::uint8_t { first, second };

/// The parent of `node` in a binary tree over nodes 0..count-1, -1 for the root. In the first tree
/// node 0 is the root and every odd node a leaf; the second is the first one mirrored (even count)
/// or shifted by one (odd), so that nobody is inside both: P. Sanders, J. Speck, J. L. Traeff,
/// Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35
/// (2009); NCCL, src/graph/trees.cc.
/// REQUIRES: 0 <= node < count.
[[nodiscard]] int tree_parent(DoubleTree which, int node, int count);

/// One channel of rings over several machines, machine by machine.
struct MachineChain {
  std::vector<int> ranks;  ///< the first is nearest to the NIC
  int nic = -1;            ///< -1 on one machine

  [[nodiscard]] RankAtNic head() const { return {ranks.front(), nic}; }
};
[[nodiscard]] std::vector<MachineChain> chains_of(const RankRing& ring, const Placement& members);

/// Appends the flows of one tree over the machines, up to the root and down again, as one group.
/// @param with_chains  and those inside the machines.
void append_machine_tree(std::span<const MachineChain> chains, DoubleTree which, int group,
                         bool with_chains, RankFlows& flows);

/// All-reduce over a double binary tree of machines; inside a machine a chain from the GPU that is
/// nearest to the NIC, in the order of its ring. Every channel of plan_rings has both trees, each
/// with half of the channel's bytes; on one machine there is only the chain.
///
/// Steps: tree_pieces, each over 2 (ranks of a machine - 1) + 2 depth hops at most.
/// Bytes per rank: 2 S at most (3/2 S through the NICs of a machine inside the tree and S/2 as a
/// leaf of the other one).
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_tree_all_reduce(const Cluster& cluster, const Placement& members);
/// The same, of machines that are alike by this fold. REQUIRES: kind is all_reduce.
[[nodiscard]] Pattern plan_folded_tree(CollectiveKind kind, const Cluster& cluster,
                                       const Placement& members, const MachineFold& fold);

}  // namespace gradwire
