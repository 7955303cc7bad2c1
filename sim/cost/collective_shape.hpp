#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// The slowest kind of link that a collective passes: what its latencies and rates go by.
enum class HopClass : std::uint8_t { nvlink, pcie, network };

inline constexpr std::array hop_classes = {HopClass::nvlink, HopClass::pcie, HopClass::network};
[[nodiscard]] std::string_view name_of(HopClass hops);  ///< "nvlink"
[[nodiscard]] std::optional<HopClass> hop_class(std::string_view name);

/// What a pattern asks of a cluster, in the few numbers that carry over to other rank counts.
struct CollectiveShape {
  int ranks = 0;
  int machines = 0;
  HopClass hops = HopClass::nvlink;
  double local_steps = 0;    ///< hops inside machines that one byte waits for, one after the other
  double network_steps = 0;  ///< the same between machines
  Seconds per_byte;          ///< of the collective's size, on the busiest link at its full rate
  Seconds local_latency;     ///< of the links of a hop inside a machine, the largest
  Seconds network_latency;   ///< the same between machines
};

/// Of a ring's steps, (machines-1)/(ranks-1) cross the network, as NCCL counts them (v2.28.9,
/// src/graph/tuning.cc: nInterSteps); of a pipeline the longest chain of flows counts, network hops
/// first; independent flows are one hop a phase.
[[nodiscard]] CollectiveShape shape_of(const Pattern& pattern, const Cluster& cluster);

/// Time that the busiest link needs for one byte of the collective, however the flows are timed.
[[nodiscard]] Seconds busiest_link_time(const Pattern& pattern, const Cluster& cluster);

}  // namespace gradwire
