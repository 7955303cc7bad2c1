#include "topologies/builders/fabrics.hpp"

#include <array>
#include <cassert>

#include "topologies/builders/machines.hpp"

namespace gradwire {

Fabric single_switch(std::span<const PortGroup> groups) {
  Fabric fabric;
  fabric.kind = "single_switch";
  const Fabric::SwitchId only = fabric.add_switch("switch0");
  attach_all(fabric, groups, [only](int /*machine*/, int /*nic*/) { return only; });
  return fabric;
}

Fabric single_switch(int ports, const PortSpec& port) {
  assert(ports >= 0);
  return single_switch(std::array{PortGroup{.machines = 1, .nics = ports, .port = port}});
}

}  // namespace gradwire
