#pragma once

#include "sim/core/cluster.hpp"

namespace gradwire {

/// `ports` ports of one kind on one switch that never blocks: two flows meet only where they share
/// a port. REQUIRES: ports >= 0.
[[nodiscard]] Fabric single_switch(int ports, const PortSpec& port);

}  // namespace gradwire
