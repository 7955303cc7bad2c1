#pragma once

#include <cstddef>

#include "sim/collectives/pattern.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// A rank and the NIC of its machine through which it sends and receives.
struct RankAtNic {
  int rank = 0;
  int nic = -1;
};

/// Appends flows to the last phase of a pattern, each with `share` of the size.
class RankFlows {
 public:
  RankFlows(const Cluster& cluster, const Placement& members, double share, Pattern& pattern)
      : cluster_(cluster), members_(members), share_(share), pattern_(pattern) {}

  /// Between two ranks of one machine.
  void local(int from, int to, int group);
  /// Through the network.
  void remote(const RankAtNic& from, const RankAtNic& to, int group);
  /// From rank `ring.order[index]` to the next one of the ring.
  void along(const RankRing& ring, std::size_t index, int group);

 private:
  [[nodiscard]] const GpuRef& at(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  /// A flow over the links that the pattern has from `begin` on.
  void add(int from, int to, int group, std::size_t begin);

  const Cluster& cluster_;
  const Placement& members_;
  double share_;
  Pattern& pattern_;
};

}  // namespace gradwire
