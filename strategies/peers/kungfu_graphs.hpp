#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradwire {

/// KungFu's names of how peers are connected; KUNGFU_ALLREDUCE_STRATEGY.
enum class KungfuGraph : std::uint8_t {
  star,
  multi_star,
  clique,
  ring,
  tree,
  binary_tree,
  binary_tree_star,
  multi_binary_tree_star,
  automatic,  ///< star on one machine, else binary_tree_star
};

/// Their names in the order of the enumeration: "STAR".
[[nodiscard]] std::span<const std::string> kungfu_graph_names();

/// One peer sends what it has to another.
struct KungfuEdge {
  int from = 0;
  int to = 0;
  bool operator==(const KungfuEdge&) const = default;
};

/// The two halves of an all-reduce, each as levels: an edge stands behind all edges that end where
/// it begins. A chain or a tree to one root, and one from it to all.
struct KungfuGraphPair {
  std::vector<std::vector<KungfuEdge>> reduce;
  std::vector<std::vector<KungfuEdge>> broadcast;
};

/// The graphs that the parts of a message are spread over, for peers on these machines (by peer).
/// @param most  graphs wanted; the first ones. REQUIRES: at least one peer, at least 1.
///
/// Source: lsds/KungFu, srcs/go/plan/topology.go and srcs/go/kungfu/session/strategy.go:
/// STAR around peer 0; MULTI_STAR and MULTI_BINARY_TREE_STAR a graph a machine, local stars around
/// a machine's first peer and a star or binary heap over these, rotated; CLIQUE a star around every
/// peer; RING a chain to and a chain from every peer; TREE local stars and a star over the first
/// peers; BINARY_TREE a heap over all peers.
[[nodiscard]] std::vector<KungfuGraphPair> kungfu_graphs(KungfuGraph graph,
                                                         const std::vector<int>& machine_of,
                                                         int most);

}  // namespace gradwire
