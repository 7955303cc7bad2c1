#pragma once

#include <vector>

#include "sim/core/node_graph.hpp"

namespace gradwire {

/// A point of a drawing in units of one device: x counts columns to the right, y rows upward.
struct Place {
  double x = 0;
  double y = 0;
};

/// Where the devices of one machine are drawn: NICs on top, then NUMA nodes, host bridges and PCIe
/// switches down to one row of GPUs; NVSwitches below those.
struct NodeLayout {
  std::vector<Place> places;   ///< by DeviceId
  std::vector<DeviceId> numa;  ///< by DeviceId: the NUMA node it hangs below, itself if none
  int columns = 0;
  double gpu_row = 0;  ///< y of the GPUs; 0 is the row of the NUMA nodes
};

constexpr double nic_row = 1.2;  ///< y of the NICs

[[nodiscard]] NodeLayout lay_out(const NodeGraph& node);

}  // namespace gradwire
