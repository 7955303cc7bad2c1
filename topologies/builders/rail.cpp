#include "topologies/builders/fabrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "topologies/builders/machines.hpp"

namespace gradwire {

Fabric rail(std::span<const PortGroup> groups, const RailShape& shape) {
  assert(shape.machines_per_leaf >= 0 && shape.spines >= 0 && shape.cables_per_spine >= 1);
  Fabric fabric;
  fabric.kind = "rail";
  const int machines = std::max(1, machine_count(groups));
  const int per_leaf = shape.machines_per_leaf > 0 ? shape.machines_per_leaf : machines;
  const int leaves = (machines + per_leaf - 1) / per_leaf;
  std::vector<Fabric::SwitchId> switches;  // [rail * leaves + leaf]
  for (int i = 0; i < std::max(1, nics_max(groups)); ++i) {
    for (int leaf = 0; leaf < leaves; ++leaf) {
      switches.push_back(fabric.add_switch(leaves == 1 ? fmt::format("rail{}", i)
                                                       : fmt::format("rail{}.leaf{}", i, leaf)));
    }
  }
  attach_all(fabric, groups, [&](int machine, int nic) {
    const int number = nic * leaves + machine / per_leaf;
    return switches[static_cast<std::size_t>(number)];
  });
  if (switches.size() == 1) return fabric;
  for (int i = 0; i < shape.spines; ++i) {
    const auto spine = fabric.add_switch(fmt::format("spine{}", i));
    for (const auto below : switches) {
      for (int c = 0; c < shape.cables_per_spine; ++c) fabric.connect(below, spine, shape.trunk);
    }
  }
  return fabric;
}

}  // namespace gradwire
