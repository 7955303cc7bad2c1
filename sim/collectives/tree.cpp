#include "sim/collectives/tree.hpp"

#include <algorithm>
#include <boost/range/adaptor/reversed.hpp>
#include <cassert>
#include <cstddef>
#include <numeric>

#include "sim/core/index.hpp"

namespace gradwire {
namespace {

int first_tree_parent(int node, int count) {
  if (node == 0) return -1;
  const int lowest_bit = node & -node;
  const int parent = (node ^ lowest_bit) | (lowest_bit << 1);
  return parent >= count ? node ^ lowest_bit : parent;
}

/// Of each node; the root's is 0.
std::vector<std::size_t> depths(DoubleTree which, int count) {
  constexpr auto unknown = static_cast<std::size_t>(-1);
  std::vector<std::size_t> depth(static_cast<std::size_t>(count), unknown);
  std::vector<std::size_t> way;  // from a node up to the first whose depth is known
  for (int node = 0; node < count; ++node) {
    int up = node;
    for (; up >= 0 && depth[at(up)] == unknown; up = tree_parent(which, up, count)) {
      way.push_back(at(up));
    }
    std::size_t next = up < 0 ? 0 : depth[at(up)] + 1;
    for (; !way.empty(); way.pop_back()) depth[way.back()] = next++;
  }
  return depth;
}

/// The root first; nodes of a depth in their order.
std::vector<std::size_t> nodes_by_depth(DoubleTree which, int count) {
  const std::vector<std::size_t> depth = depths(which, count);
  std::vector<std::size_t> next(std::ranges::max(depth) + 2);  // place of the depth's next node
  for (const std::size_t of_node : depth) ++next[of_node + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::size_t> nodes(depth.size());
  for (std::size_t node = 0; node < depth.size(); ++node) nodes[next[depth[node]]++] = node;
  return nodes;
}

}  // namespace

int tree_parent(DoubleTree which, int node, int count) {
  assert(0 <= node && node < count);
  if (which == DoubleTree::first) return first_tree_parent(node, count);
  if (count % 2 == 0) {
    const int parent = first_tree_parent(count - 1 - node, count);
    return parent < 0 ? -1 : count - 1 - parent;
  }
  const int parent = first_tree_parent((node + count - 1) % count, count);
  return parent < 0 ? -1 : (parent + 1) % count;
}

std::vector<MachineChain> chains_of(const RankRing& ring, const Placement& members) {
  std::vector<MachineChain> chains;
  const auto node_of = [&](int rank) { return members[at(rank)].node; };
  for (auto begin = ring.order.begin(); begin != ring.order.end();) {
    const auto end = std::find_if(begin, ring.order.end(),
                                  [&](int rank) { return node_of(rank) != node_of(*begin); });
    const auto index = static_cast<std::size_t>(begin - ring.order.begin());
    chains.push_back({.ranks = {begin, end}, .nic = ring.nic[index]});
    begin = end;
  }
  return chains;
}

void append_machine_tree(std::span<const MachineChain> chains, DoubleTree which, int group,
                         bool with_chains, RankFlows& flows) {
  const int count = static_cast<int>(chains.size());
  const std::vector<std::size_t> by_depth = nodes_by_depth(which, count);
  const auto parent_of = [&](std::size_t machine) {
    return tree_parent(which, static_cast<int>(machine), count);
  };
  const auto head_of = [&](int machine) {
    return chains[static_cast<std::size_t>(machine)].head();
  };
  std::vector<int> upwards;
  // A flow waits for those listed before it that end where it begins: leaves first on the way up.
  for (const std::size_t machine : boost::adaptors::reverse(by_depth)) {
    const MachineChain& chain = chains[machine];
    if (with_chains) {
      upwards.assign(chain.ranks.rbegin(), chain.ranks.rend());
      flows.chain(upwards, group);
    }
    const int parent = parent_of(machine);
    if (parent >= 0) flows.remote(chain.head(), head_of(parent), group);
  }
  for (const std::size_t machine : by_depth) {
    const MachineChain& chain = chains[machine];
    const int parent = parent_of(machine);
    if (parent >= 0) flows.remote(head_of(parent), chain.head(), group);
    if (with_chains) flows.chain(chain.ranks, group);
  }
}

namespace {

Pattern plan_tree(const Cluster& cluster, const Placement& members, const MachineFold& fold) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(CollectiveKind::all_reduce, "tree", members, rings.size());
  pattern.fold = fold;
  if (!rings.empty()) {
    const bool is_local = pattern.machines == 1;
    const int trees = is_local ? 1 : 2;
    pattern.phases.push_back({.flows = {}, .steps = tree_pieces, .coupling = Coupling::pipeline});
    Phase& phase = pattern.phases.back();
    const std::size_t ways = 2 * static_cast<std::size_t>(trees) * rings.size();
    const auto machines = static_cast<std::size_t>(pattern.machines);
    if (pattern.is_folded()) {
      phase.flows.reserve(ways * (machines + static_cast<std::size_t>(fold.ranks)));
      phase.runs.reserve(2 * ways * machines);
    } else {
      phase.flows.reserve(ways * members.size());
    }
    RankFlows flows(cluster, members, 1.0 / (trees * pattern.channels), pattern);
    int group = 0;
    for (const RankRing& ring : rings) {
      const std::vector<MachineChain> chains = chains_of(ring, members);
      append_machine_tree(chains, DoubleTree::first, group++, true, flows);
      // Every tree has about as many links as the first one.
      if (group == 1) {
        pattern.path_links.reserve(pattern.path_links.size() * rings.size() *
                                   static_cast<std::size_t>(trees) * 9 / 8);
      }
      if (is_local) continue;
      append_machine_tree(chains, DoubleTree::second, group++, true, flows);
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace

Pattern plan_tree_all_reduce(const Cluster& cluster, const Placement& members) {
  return plan_tree(cluster, members, {});
}

Pattern plan_folded_tree(CollectiveKind /*kind*/, const Cluster& cluster, const Placement& members,
                         const MachineFold& fold) {
  return plan_tree(cluster, members, fold);
}

}  // namespace gradwire
