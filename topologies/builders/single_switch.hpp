#pragma once

#include <span>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// All NICs on one switch that never blocks: two flows meet only where they share a port.
[[nodiscard]] Fabric single_switch(std::span<const PortGroup> groups);

/// The same with `ports` ports of one kind. REQUIRES: ports >= 0.
[[nodiscard]] Fabric single_switch(int ports, const PortSpec& port);

}  // namespace gradwire
