#pragma once

#include <string>

#include "sim/core/cluster.hpp"

namespace gradwire {

/// A cluster as Graphviz DOT, to be drawn by `dot -Tsvg`: devices in a box for each NUMA node,
/// edges labelled with GB/s in each direction, the fabric below. Of many nodes the first ones are
/// drawn, with a note of how many are left out.
/// @param nodes_drawn  at most, at least 1.
[[nodiscard]] std::string topology_dot(const Cluster& cluster, int nodes_drawn = 2);

}  // namespace gradwire
