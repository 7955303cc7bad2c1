#include "sim/collectives/tree.hpp"

#include <algorithm>
#include <boost/range/adaptor/reversed.hpp>
#include <cassert>
#include <cstddef>
#include <numeric>

namespace gradwire {
namespace {

int first_tree_parent(int node, int count) {
  if (node == 0) return -1;
  const int lowest_bit = node & -node;
  const int parent = (node ^ lowest_bit) | (lowest_bit << 1);
  return parent >= count ? node ^ lowest_bit : parent;
}

std::vector<int> depths(DoubleTree which, int count) {
  std::vector<int> depth(static_cast<std::size_t>(count));
  for (int node = 0; node < count; ++node) {
    for (int up = tree_parent(which, node, count); up >= 0; up = tree_parent(which, up, count)) {
      ++depth[static_cast<std::size_t>(node)];
    }
  }
  return depth;
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
  int node = -1;
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const int rank = ring.order[i];
    const int here = members[static_cast<std::size_t>(rank)].node;
    if (here != node) chains.push_back({.ranks = {}, .nic = ring.nic[i]});
    chains.back().ranks.push_back(rank);
    node = here;
  }
  return chains;
}

void append_machine_tree(std::span<const MachineChain> chains, DoubleTree which, int group,
                         bool with_chains, RankFlows& flows) {
  const int count = static_cast<int>(chains.size());
  const std::vector<int> depth = depths(which, count);
  std::vector<std::size_t> by_depth(chains.size());
  std::iota(by_depth.begin(), by_depth.end(), std::size_t{0});
  std::stable_sort(by_depth.begin(), by_depth.end(),
                   [&](std::size_t a, std::size_t b) { return depth[a] < depth[b]; });
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
