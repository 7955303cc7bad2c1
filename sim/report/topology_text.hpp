#pragma once

#include <string>

#include "sim/core/placement.hpp"

namespace gradwire {

/// A cluster as text: for each node type its devices, links (GB/s and latency of each direction),
/// NVLink matrix, the NIC nearest to each GPU and the routes between GPUs by class; then the
/// fabric.
[[nodiscard]] std::string topology_text(const Cluster& cluster);

}  // namespace gradwire
