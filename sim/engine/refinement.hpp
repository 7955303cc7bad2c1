#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/flow_graph.hpp"

namespace gradwire {

/// Which flows, links and groups behave alike. Classes count from 0 in order of first appearance.
struct Partition {
  std::vector<std::uint32_t> flow_class;
  std::vector<std::uint32_t> link_class;
  std::vector<std::uint32_t> group_class;
  std::uint32_t flow_classes = 0;
  std::uint32_t link_classes = 0;
  std::uint32_t group_classes = 0;

  bool operator==(const Partition&) const = default;
};

/// The coarsest partition in which two flows of a class are of one kind and use equally many links
/// of every link class, and two links of a class have one capacity and carry equally many flows of
/// every flow class; a coupled group counts as one more node on each of its flows, so that one with
/// a slow member stays apart. Rates that are max-min fair are then equal within a class.
///
/// Colour refinement (1-WL) done as partition refinement with "all but the largest part":
/// O(m log n) for m uses of links by flows, exact, no hashing. See Cardon and Crochemore,
/// Partitioning a graph in O(|A| log2 |V|), Theoretical Computer Science 19 (1982).
/// Parts of the graph are refined on all threads that may be used.
[[nodiscard]] Partition refine(const FlowGraph& graph);

/// Every flow, link and group for itself.
[[nodiscard]] Partition no_merging(const FlowGraph& graph);

}  // namespace gradwire
