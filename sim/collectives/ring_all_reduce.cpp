#include "sim/collectives/ring_all_reduce.hpp"

#include <vector>

#include "sim/collectives/machine_fold.hpp"
#include "sim/collectives/rings.hpp"

namespace gradwire {
namespace {

/// @param turns  of n-1 steps each, around the rings.
Pattern plan_turns(CollectiveKind kind, int turns, const Cluster& cluster, const Placement& members,
                   const MachineFold& fold = {}) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(kind, "ring", members, rings.size());
  pattern.fold = fold;
  if (!rings.empty()) append_rings(cluster, members, rings, turns * (pattern.ranks - 1), pattern);
  pattern.seal();
  return pattern;
}

Pattern plan_folded_turns(CollectiveKind kind, int turns, const Cluster& cluster,
                          const Placement& members) {
  return folded_or_whole(cluster, members, [&](const MachineFold& fold) {
    return plan_turns(kind, turns, cluster, members, fold);
  });
}

}  // namespace

Pattern plan_ring_all_reduce(const Cluster& cluster, const Placement& members) {
  return plan_turns(CollectiveKind::all_reduce, 2, cluster, members);
}

Pattern plan_ring_reduce_scatter(const Cluster& cluster, const Placement& members) {
  return plan_turns(CollectiveKind::reduce_scatter, 1, cluster, members);
}

Pattern plan_ring_all_gather(const Cluster& cluster, const Placement& members) {
  return plan_turns(CollectiveKind::all_gather, 1, cluster, members);
}

Pattern plan_folded_ring_all_reduce(const Cluster& cluster, const Placement& members) {
  return plan_folded_turns(CollectiveKind::all_reduce, 2, cluster, members);
}

Pattern plan_folded_ring_reduce_scatter(const Cluster& cluster, const Placement& members) {
  return plan_folded_turns(CollectiveKind::reduce_scatter, 1, cluster, members);
}

Pattern plan_folded_ring_all_gather(const Cluster& cluster, const Placement& members) {
  return plan_folded_turns(CollectiveKind::all_gather, 1, cluster, members);
}

}  // namespace gradwire
