#pragma once

#include <span>
#include <vector>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// A dragonfly (Kim, Dally, Scott, Abts, Technology-driven, highly-scalable dragonfly topology,
/// ISCA 2008): routers of a group joined each to each, groups joined by global links.
struct DragonflyShape {
  int groups = 1;
  int routers_per_group = 1;
  int machines_per_router = 1;
  int global_links = 1;  ///< of each router
  Link local;
  Link global;
};

/// Global links that join each pair of groups: what a group has, shared equally among the others,
/// rounded down; the rest stay unused.
[[nodiscard]] int links_per_pair(const DragonflyShape& shape);

/// Minimal routing: at most one local hop, one global link, one local hop. Of a pair's global links
/// the flow takes one that needs fewest local hops; of equal ones by its hash.
/// REQUIRES: numbers >= 1; links_per_pair(shape) >= 1 when there are several groups.
[[nodiscard]] Fabric dragonfly(std::span<const PortGroup> groups, const DragonflyShape& shape);

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

/// Rail-optimised: NIC i of every machine hangs on a switch of rail i, so that GPUs of one index
/// are one switch apart (Wang et al., Rail-only: a low-cost high-performance network for training
/// LLMs with trillion parameters, 2023, describes both forms).
struct RailShape {
  int machines_per_leaf = 0;  ///< on each switch of a rail; 0: one switch a rail
  int spines = 0;             ///< above all rails; 0: none, rails meet only inside machines
  int cables_per_spine = 1;   ///< from each rail switch to each spine
  Link trunk;                 ///< one cable
};

/// As many rails as the machine with most NICs has. Without spines there is no way between rails in
/// the fabric; Cluster::append_remote takes NVLink inside the sending machine then.
[[nodiscard]] Fabric rail(std::span<const PortGroup> groups, const RailShape& shape);

/// All NICs on one switch that never blocks: two flows meet only where they share a port.
[[nodiscard]] Fabric single_switch(std::span<const PortGroup> groups);

/// The same with `ports` ports of one kind. REQUIRES: ports >= 0.
[[nodiscard]] Fabric single_switch(int ports, const PortSpec& port);

/// A torus of any number of dimensions: switches on a grid that closes on itself.
struct TorusShape {
  std::vector<int> dimensions;  ///< switches in each; 2 is one trunk, not two; 1 is none
  int machines_per_switch = 1;
  Link trunk;
};

/// Switches are filled in the order of their coordinates, the last running fastest. Dimension-order
/// routing: the first dimension is finished before the second begins (Dally and Seitz,
/// Deadlock-free message routing in multiprocessor interconnection networks, IEEE Transactions on
/// Computers, 1987), each the shorter way round; where both are equally long, upward. REQUIRES: a
/// dimension; each >= 1.
[[nodiscard]] Fabric torus(std::span<const PortGroup> groups, const TorusShape& shape);

}  // namespace gradwire
