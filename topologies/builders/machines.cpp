#include "topologies/builders/machines.hpp"

#include <algorithm>
#include <cassert>

namespace gradwire {

int machine_count(std::span<const PortGroup> groups) {
  int machines = 0;
  for (const PortGroup& group : groups) machines += group.machines;
  return machines;
}

int nics_max(std::span<const PortGroup> groups) {
  int most = 0;
  for (const PortGroup& group : groups) most = std::max(most, group.nics);
  return most;
}

const PortSpec& fastest_port(std::span<const PortGroup> groups) {
  assert(!groups.empty());
  return std::max_element(groups.begin(), groups.end(),
                          [](const PortGroup& a, const PortGroup& b) {
                            return a.port.bandwidth < b.port.bandwidth;
                          })
      ->port;
}

void attach_all(Fabric& fabric, std::span<const PortGroup> groups,
                const std::function<Fabric::SwitchId(int machine, int nic)>& switch_of) {
  int machine = 0;
  for (const PortGroup& group : groups) {
    assert(group.machines >= 0 && group.nics >= 0);
    fabric.port = group.port;
    for (const int end = machine + group.machines; machine < end; ++machine) {
      for (int nic = 0; nic < group.nics; ++nic) fabric.attach(switch_of(machine, nic));
    }
  }
}

}  // namespace gradwire
