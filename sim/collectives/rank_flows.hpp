#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

/// Appends flows to the last phase of a pattern, each with `share` of the size. Of a folded pattern
/// a chain is laid on the first machine, and stands for the same one on others.
class RankFlows {
 public:
  RankFlows(const Cluster& cluster, const Placement& members, double share, Pattern& pattern)
      : cluster_(cluster), members_(members), share_(share), pattern_(pattern) {}

  /// Between two ranks of one machine.
  void local(int from, int to, int group);
  /// From each rank of a machine to the next one.
  void chain(std::span<const int> ranks, int group);
  /// Through the network.
  void remote(const RankAtNic& from, const RankAtNic& to, int group);
  /// From rank `ring.order[index]` to the next one of the ring.
  void along(const RankRing& ring, std::size_t index, int group);

 private:
  [[nodiscard]] const GpuRef& at(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  /// A chain on the first machine.
  struct Laid {
    std::vector<int> ranks;
    FlowRun run;
  };

  void add_local(int from, int to, int group);
  /// A flow over the links that the pattern has from `begin` on.
  void add(int from, int to, int group, std::size_t begin);
  /// Of a folded pattern: the flow that was added last comes next in order.
  void stand();
  /// The run of a chain on the first machine, which is laid unless it was.
  [[nodiscard]] FlowRun laid(std::span<const int> ranks, int group);

  const Cluster& cluster_;
  const Placement& members_;
  double share_;
  Pattern& pattern_;
  std::vector<Laid> laid_;  ///< of the group before
  int laid_group_ = -1;
};

}  // namespace gradwire
