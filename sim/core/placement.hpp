#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire {

class Cluster;  // sim/core/cluster.hpp

/// Index of a shared resource of the whole cluster (a direction of a link, or a device's transit).
using LinkId = std::int32_t;

/// Where a rank lives; nodes and GPUs count from 0.
struct GpuRef {
  int node = 0;
  int gpu = 0;
  auto operator<=>(const GpuRef&) const = default;
};

/// placement[rank] is the GPU of that rank.
using Placement = std::vector<GpuRef>;

/// Where some ranks live, in their order.
[[nodiscard]] Placement placement_of(std::span<const int> ranks, const Placement& placement);

/// Ranks node by node, the first `gpus[node]` GPUs of each.
[[nodiscard]] Placement packed_placement(std::span<const int> gpus);
/// The first GPU of every node, then the second of each that has one, and so on.
[[nodiscard]] Placement round_robin_placement(std::span<const int> gpus);
/// The same with equally many GPUs of each node.
[[nodiscard]] Placement packed_placement(const Cluster& cluster, int gpus_per_node);
[[nodiscard]] Placement round_robin_placement(const Cluster& cluster, int gpus_per_node);

}  // namespace gradwire
