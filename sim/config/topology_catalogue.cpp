#include "sim/config/topology_catalogue.hpp"

#include "topologies/builders/single_switch.hpp"

namespace gradwire::config {

const std::vector<FabricEntry>& fabric_catalogue() {
  static const std::vector<FabricEntry> catalogue = {
      {"single_switch",
       "all ports on one switch that never blocks",
       {},
       [](YamlMap& /*map*/, int ports, const PortSpec& port) {
         return single_switch(ports, port);
       }},
  };
  return catalogue;
}

}  // namespace gradwire::config
