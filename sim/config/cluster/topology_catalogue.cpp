#include "sim/config/cluster/topology_catalogue.hpp"

#include "sim/config/cluster/fabric_shapes.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire::config {
const std::vector<FabricEntry>& fabric_catalogue() {
  static const std::vector<FabricEntry> catalogue = {
      {"single_switch",
       "all ports on one switch that never blocks",
       {},
       [](YamlMap& /*map*/, std::span<const PortGroup> ports) { return single_switch(ports); }},
      {"fat_tree", "leaves under spines, of two or three levels, with any oversubscription",
       fat_tree_keys(), read_fat_tree},
      {"rail", "NIC i of every node on rail i, with or without spines above the rails", rail_keys(),
       read_rail},
      {"dragonfly", "groups of routers joined each to each, minimal routing", dragonfly_keys(),
       read_dragonfly},
      {"torus", "switches on a grid that closes on itself, dimension-order routing", torus_keys(),
       read_torus},
  };
  return catalogue;
}

}  // namespace gradwire::config
