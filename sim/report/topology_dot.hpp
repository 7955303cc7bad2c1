#pragma once

#include <string>

#include "sim/core/placement.hpp"

namespace gradwire {

/// A cluster as Graphviz DOT: devices in a box for each NUMA node, edges labelled with GB/s in each
/// direction, the fabric below. Of many nodes one of each type is drawn, with how many are like it;
/// of many switches those that are alike are one box.
/// @param nodes_drawn  so many nodes or fewer are all drawn; at least 1.
[[nodiscard]] std::string topology_dot(const Cluster& cluster, int nodes_drawn = 2);

}  // namespace gradwire
