#pragma once

#include <span>
#include <vector>

#include "sim/core/fabric.hpp"

namespace gradwire {

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
