#include "topologies/builders/single_switch.hpp"

#include <cassert>

namespace gradwire {

Fabric single_switch(int ports, const PortSpec& port) {
  assert(ports >= 0);
  Fabric fabric;
  fabric.kind = "single_switch";
  fabric.port = port;
  const Fabric::SwitchId only = fabric.add_switch("switch0");
  for (int i = 0; i < ports; ++i) fabric.attach(only);
  return fabric;
}

}  // namespace gradwire
