#include "sim/config/topology_catalogue.hpp"

#include "sim/config/fabric_shapes.hpp"
#include "topologies/builders/single_switch.hpp"

namespace gradwire::config {
namespace {

const ParameterInfo trunk = {"trunk", "as the fastest port",
                             "a link's name, or {bandwidth, latency} of one cable, one direction"};
const ParameterInfo routing = {
    "routing", "spread for ib, efa and slingshot, ecmp for tcp and roce",
    "spread: every flow evenly over all equal-cost paths (adaptive routing; efa: SRD sprays "
    "packets, "
    "Shalev et al., IEEE Micro 2020; ib: assumed to be switched on); ecmp: one way by hash"};
const ParameterInfo ecmp_seed = {"ecmp_seed", "1",
                                 "of the hash that chooses among equal-cost paths"};

std::vector<ParameterInfo> fat_tree_parameters() {
  return {{"levels", "2", "2 or 3 levels of switches"},
          {"radix", "this or nodes_per_leaf", "ports of every switch"},
          {"nodes_per_leaf", "this or radix", "with all their NICs"},
          {"oversubscription", "1", "bandwidth into a leaf from below / to above, at least 1"},
          {"spines", "as many as a leaf has cables upward", "of a pod when there are 3 levels"},
          {"leaves_per_pod", "what the radix gives", "3 levels only"},
          {"core_oversubscription", "1", "of a pod's spines; 3 levels only"},
          trunk,
          routing,
          ecmp_seed};
}

std::vector<ParameterInfo> rail_parameters() {
  return {{"spine", "true", "false: rails meet only inside machines, over NVLink (as NCCL's PXN)"},
          {"nodes_per_leaf", "all", "on each switch of a rail; needs a spine"},
          {"oversubscription", "1", "bandwidth into a rail switch from below / to above"},
          {"spines", "as many as a rail switch has cables upward", "switches above all rails"},
          trunk,
          routing,
          ecmp_seed};
}

std::vector<ParameterInfo> dragonfly_parameters() {
  return {{"groups", "required", "of routers"},
          {"routers_per_group", "required", "joined each to each"},
          {"nodes_per_router", "as few as hold all nodes", "with all their NICs"},
          {"global_links", "as few as join every two groups", "of each router, to other groups"},
          trunk,
          {"global_trunk", "as trunk", "between groups"},
          ecmp_seed};
}

std::vector<ParameterInfo> torus_parameters() {
  return {{"dimensions", "required", "switches in each, such as [4, 4, 4]"},
          {"nodes_per_switch", "as few as hold all nodes", "with all their NICs"},
          trunk};
}

}  // namespace

const std::vector<FabricEntry>& fabric_catalogue() {
  static const std::vector<FabricEntry> catalogue = {
      {"single_switch",
       "all ports on one switch that never blocks",
       {},
       [](YamlMap& /*map*/, std::span<const PortGroup> ports) { return single_switch(ports); }},
      {"fat_tree", "leaves under spines, of two or three levels, with any oversubscription",
       fat_tree_parameters(), read_fat_tree},
      {"rail", "NIC i of every node on rail i, with or without spines above the rails",
       rail_parameters(), read_rail},
      {"dragonfly", "groups of routers joined each to each, minimal routing",
       dragonfly_parameters(), read_dragonfly},
      {"torus", "switches on a grid that closes on itself, dimension-order routing",
       torus_parameters(), read_torus},
  };
  return catalogue;
}

}  // namespace gradwire::config
