#include "sim/collectives/planners.hpp"

#include <algorithm>
#include <bit>

#include "sim/collectives/schedule.hpp"

namespace gradwire {
namespace {

constexpr const char* algorithm_name = "binomial_tree";

/// Down the tree. @param is_whole  each message holds everything, else the receiver's subtree.
Schedule downwards(const Placement& members, bool is_whole) {
  const auto ranks = static_cast<int>(members.size());
  Schedule schedule;
  if (ranks < 2) return schedule;
  for (auto apart = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)) / 2); apart >= 1;
       apart /= 2) {
    Round round;
    for (int parent = 0; parent + apart < ranks; parent += 2 * apart) {
      const int child = parent + apart;
      const int subtree = std::min(apart, ranks - child);
      round.messages.push_back({.source = parent,
                                .destination = child,
                                .share = is_whole ? 1 : static_cast<double>(subtree) / ranks});
    }
    schedule.push_back(round);
  }
  return schedule;
}

}  // namespace

Pattern plan_binomial_broadcast(const Cluster& cluster, const Placement& members) {
  return lay_out(downwards(members, true), CollectiveKind::broadcast, algorithm_name, cluster,
                 members);
}

Pattern plan_binomial_reduce(const Cluster& cluster, const Placement& members) {
  return lay_out(mirrored(downwards(members, true)), CollectiveKind::reduce, algorithm_name,
                 cluster, members);
}

Pattern plan_binomial_scatter(const Cluster& cluster, const Placement& members) {
  return lay_out(downwards(members, false), CollectiveKind::scatter, algorithm_name, cluster,
                 members);
}

Pattern plan_binomial_gather(const Cluster& cluster, const Placement& members) {
  return lay_out(mirrored(downwards(members, false)), CollectiveKind::gather, algorithm_name,
                 cluster, members);
}

}  // namespace gradwire
