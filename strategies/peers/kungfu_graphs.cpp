#include "strategies/peers/kungfu_graphs.hpp"

#include <algorithm>
#include <cassert>
#include <map>

namespace gradwire {
namespace {

constexpr int nobody = -1;
/// For every peer the one before it (broadcast) or behind it (reduce); nobody for the root.
using Neighbours = std::vector<int>;

std::size_t at(int number) {
  return static_cast<std::size_t>(number);
}

int& of(Neighbours& neighbours, int peer) {
  return neighbours[at(peer)];
}

/// Steps from every peer to the root.
std::vector<int> depths(const Neighbours& before) {
  constexpr int unknown = -1;
  std::vector<int> steps(before.size(), unknown);
  std::vector<int> climbed;
  for (int peer = 0; peer < static_cast<int>(before.size()); ++peer) {
    int above = peer;
    for (; above != nobody && of(steps, above) == unknown; above = before[at(above)]) {
      climbed.push_back(above);
    }
    int next = above == nobody ? 0 : of(steps, above) + 1;
    for (; !climbed.empty(); climbed.pop_back()) of(steps, climbed.back()) = next++;
  }
  return steps;
}

std::vector<std::vector<KungfuEdge>> broadcast_levels(const Neighbours& before) {
  const std::vector<int> depth = depths(before);
  std::vector<std::vector<KungfuEdge>> levels;
  for (int peer = 0; peer < static_cast<int>(before.size()); ++peer) {
    const int from = before[at(peer)];
    if (from == nobody) continue;
    const std::size_t level = at(depth[at(from)]);
    if (levels.size() <= level) levels.resize(level + 1);
    levels[level].push_back({from, peer});
  }
  return levels;
}

/// For every peer the most steps from a leaf to it.
std::vector<int> heights(const Neighbours& behind) {
  std::vector<bool> is_leaf(behind.size(), true);
  for (const int peer : behind) {
    if (peer != nobody) is_leaf[at(peer)] = false;
  }
  std::vector<int> height(behind.size(), 0);
  for (int leaf = 0; leaf < static_cast<int>(behind.size()); ++leaf) {
    if (!is_leaf[at(leaf)]) continue;
    int steps = 1;
    // One that is as high already has made those above it high enough.
    for (int peer = behind[at(leaf)]; peer != nobody && of(height, peer) < steps;
         peer = behind[at(peer)]) {
      of(height, peer) = steps++;
    }
  }
  return height;
}

/// A peer sends when all before it have sent to it: its level is its height over the leaves.
std::vector<std::vector<KungfuEdge>> reduce_levels(const Neighbours& behind) {
  const std::vector<int> height = heights(behind);
  std::vector<std::vector<KungfuEdge>> levels;
  for (int peer = 0; peer < static_cast<int>(behind.size()); ++peer) {
    const int to = behind[at(peer)];
    if (to == nobody) continue;
    const std::size_t level = at(height[at(peer)]);
    if (levels.size() <= level) levels.resize(level + 1);
    levels[level].push_back({peer, to});
  }
  return levels;
}

KungfuGraphPair tree(const Neighbours& parents) {
  return {reduce_levels(parents), broadcast_levels(parents)};
}

Neighbours star(int peers, int root) {
  Neighbours parents(static_cast<std::size_t>(peers), root);
  of(parents, root) = nobody;
  return parents;
}

/// Parent k of a binary heap's node: (k - 1) / 2.
Neighbours binary_tree(int peers) {
  Neighbours parents(static_cast<std::size_t>(peers), nobody);
  for (int peer = 1; peer < peers; ++peer) of(parents, peer) = (peer - 1) / 2;
  return parents;
}

/// The first peer of each machine, and everybody else below it.
struct LocalStars {
  std::vector<int> masters;
  Neighbours parents;
};
LocalStars local_stars(const std::vector<int>& machine_of) {
  LocalStars stars;
  std::map<int, int> master_of;
  for (int peer = 0; peer < static_cast<int>(machine_of.size()); ++peer) {
    const auto [at, is_first] =
        master_of.try_emplace(machine_of[static_cast<std::size_t>(peer)], peer);
    stars.parents.push_back(is_first ? nobody : at->second);
    if (is_first) stars.masters.push_back(peer);
  }
  return stars;
}

/// Local stars, and `among` over their masters, rotated by `offset`.
KungfuGraphPair over_machines(const LocalStars& stars, const Neighbours& among, int offset) {
  Neighbours parents = stars.parents;
  const auto count = stars.masters.size();
  const auto master = [&](int index) {
    return stars
        .masters[(static_cast<std::size_t>(index) + static_cast<std::size_t>(offset)) % count];
  };
  for (int index = 0; index < static_cast<int>(count); ++index) {
    const int parent = among[static_cast<std::size_t>(index)];
    if (parent != nobody) of(parents, master(index)) = master(parent);
  }
  return tree(parents);
}

/// The reduce chain begins behind `root`, goes around the circle and ends at it; the broadcast
/// chain begins at it and ends before it.
KungfuGraphPair ring(int peers, int root) {
  Neighbours behind(static_cast<std::size_t>(peers), nobody);
  Neighbours before(static_cast<std::size_t>(peers), nobody);
  for (int step = 1; step < peers; ++step) {
    of(behind, (root + step) % peers) = (root + step + 1) % peers;
    of(before, (root + step) % peers) = (root + step - 1) % peers;
  }
  return {reduce_levels(behind), broadcast_levels(before)};
}

}  // namespace

std::span<const std::string> kungfu_graph_names() {
  static const std::vector<std::string> names = {
      "STAR", "MULTI_STAR",  "CLIQUE",           "RING",
      "TREE", "BINARY_TREE", "BINARY_TREE_STAR", "MULTI_BINARY_TREE_STAR",
      "AUTO"};
  return names;
}

std::vector<KungfuGraphPair> kungfu_graphs(KungfuGraph graph, const std::vector<int>& machine_of,
                                           int most) {
  assert(!machine_of.empty() && most >= 1);
  const int peers = static_cast<int>(machine_of.size());
  const LocalStars stars = local_stars(machine_of);
  const int machines = static_cast<int>(stars.masters.size());
  std::vector<KungfuGraphPair> graphs;
  switch (graph) {
    case KungfuGraph::automatic:
      return kungfu_graphs(machines == 1 ? KungfuGraph::star : KungfuGraph::binary_tree_star,
                           machine_of, most);
    case KungfuGraph::star:
      return {tree(star(peers, 0))};
    case KungfuGraph::tree:
      return {over_machines(stars, star(machines, 0), 0)};
    case KungfuGraph::binary_tree:
      return {tree(binary_tree(peers))};
    case KungfuGraph::binary_tree_star:
      return {over_machines(stars, binary_tree(machines), 0)};
    case KungfuGraph::multi_star:
      for (int root = 0; root < std::min(machines, most); ++root) {
        graphs.push_back(over_machines(stars, star(machines, root), 0));
      }
      return graphs;
    case KungfuGraph::multi_binary_tree_star:
      for (int offset = 0; offset < std::min(machines, most); ++offset) {
        graphs.push_back(over_machines(stars, binary_tree(machines), offset));
      }
      return graphs;
    case KungfuGraph::clique:
      for (int root = 0; root < std::min(peers, most); ++root) {
        graphs.push_back(tree(star(peers, root)));
      }
      return graphs;
    case KungfuGraph::ring:
      for (int root = 0; root < std::min(peers, most); ++root) graphs.push_back(ring(peers, root));
      return graphs;
  }
  return graphs;
}

}  // namespace gradwire
