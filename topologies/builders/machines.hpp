#pragma once

#include <functional>
#include <span>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// Machines of all groups.
[[nodiscard]] int machine_count(std::span<const PortGroup> groups);
/// NICs of the machine that has most of them.
[[nodiscard]] int nics_max(std::span<const PortGroup> groups);
/// The fastest port; of equal ones the first. REQUIRES: there is a group.
[[nodiscard]] const PortSpec& fastest_port(std::span<const PortGroup> groups);

/// Attaches every NIC of every machine, machine by machine in the order of the groups, as Cluster
/// numbers ports. @param switch_of  (machine, nic) -> where it hangs.
void attach_all(Fabric& fabric, std::span<const PortGroup> groups,
                const std::function<Fabric::SwitchId(int machine, int nic)>& switch_of);

}  // namespace gradwire
