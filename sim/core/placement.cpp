#include "sim/core/cluster.hpp"

#include <algorithm>
#include <cstddef>

namespace gradwire {

Placement placement_of(std::span<const int> ranks, const Placement& placement) {
  Placement group;
  for (const int rank : ranks) group.push_back(placement[static_cast<std::size_t>(rank)]);
  return group;
}

Placement packed_placement(std::span<const int> gpus) {
  Placement placement;
  for (std::size_t node = 0; node < gpus.size(); ++node) {
    for (int gpu = 0; gpu < gpus[node]; ++gpu) placement.push_back({static_cast<int>(node), gpu});
  }
  return placement;
}

Placement round_robin_placement(std::span<const int> gpus) {
  Placement placement;
  const int most = gpus.empty() ? 0 : *std::max_element(gpus.begin(), gpus.end());
  for (int gpu = 0; gpu < most; ++gpu) {
    for (std::size_t node = 0; node < gpus.size(); ++node) {
      if (gpu < gpus[node]) placement.push_back({static_cast<int>(node), gpu});
    }
  }
  return placement;
}

Placement packed_placement(const Cluster& cluster, int gpus_per_node) {
  return packed_placement(
      std::vector<int>(static_cast<std::size_t>(cluster.node_count()), gpus_per_node));
}

Placement round_robin_placement(const Cluster& cluster, int gpus_per_node) {
  return round_robin_placement(
      std::vector<int>(static_cast<std::size_t>(cluster.node_count()), gpus_per_node));
}

}  // namespace gradwire
