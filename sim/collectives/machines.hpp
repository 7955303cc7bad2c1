#pragma once

#include <vector>

#include "sim/core/placement.hpp"

namespace gradwire {

/// The nodes that any of these ranks lives on, rising.
[[nodiscard]] std::vector<int> nodes_of(const Placement& members);

/// The ranks of one machine.
struct Machine {
  int node = 0;
  std::vector<int> gpus;   ///< rising
  std::vector<int> ranks;  ///< of those GPUs
};

/// The machines that these ranks live on, in the order in which the ranks name them.
/// @throws SimulationError when two ranks share a GPU, or one of several machines has no NIC.
[[nodiscard]] std::vector<Machine> machines_of(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
