#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/cluster_link.hpp"
#include "sim/engine/flow_graph.hpp"

namespace gradwire {

/// What flows see of a link.
struct LinkType {
  double capacity = 0;
  double latency = 0;
  Hop hop = Hop::nvlink;
  double connection_capacity = 0;
  int connections = 1;

  /// What a flow's connections carry. @param opened  by the library; 0: as the port says.
  [[nodiscard]] double ceiling(int opened) const {
    return (opened > 0 ? opened : connections) * connection_capacity;
  }
};

/// Of each type that some links are of.
[[nodiscard]] std::vector<LinkType> link_types(const ClusterLinks& links);

/// In whole femtoseconds: sums of the same latencies in another order must not make another kind of
/// flow.
[[nodiscard]] std::int64_t femtoseconds(double seconds);

}  // namespace gradwire
