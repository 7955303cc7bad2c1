#pragma once

#include <span>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// A fat tree (Leiserson, Fat-trees: universal networks for hardware-efficient supercomputing, IEEE
/// Transactions on Computers, 1985; as folded Clos: Al-Fares, Loukissas, Vahdat, A scalable,
/// commodity data center network architecture, SIGCOMM 2008).
struct FatTreeShape {
  int machines_per_leaf = 1;  ///< all NICs of a machine hang on its leaf
  int spines = 1;             ///< above all leaves, or in each pod when there are three levels
  int cables_per_spine = 1;   ///< from each leaf to each of its spines
  int leaves_per_pod = 0;     ///< 0: two levels
  int cores_per_spine = 0;    ///< three levels: core switches above each spine, one cable to each
  Link trunk;                 ///< one cable
};

/// Leaves in the order of the machines. Two levels: every leaf has cables to every spine. Three:
/// every leaf to the spines of its pod, and spine j of every pod to the j-th group of cores. Where
/// all machines hang on one leaf (or in one pod) nothing stands above it.
/// REQUIRES: numbers >= 1, but cores and leaves a pod 0 for two levels.
[[nodiscard]] Fabric fat_tree(std::span<const PortGroup> groups, const FatTreeShape& shape);

}  // namespace gradwire
