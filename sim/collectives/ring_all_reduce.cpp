#include "sim/collectives/planners.hpp"

#include <vector>

#include "sim/collectives/rings.hpp"

namespace gradwire {

Pattern plan_ring(CollectiveKind kind, const Cluster& cluster, const Placement& members,
                  const MachineFold& fold) {
  const int turns = kind == CollectiveKind::all_reduce ? 2 : 1;  // of n-1 steps each
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(kind, "ring", members, rings.size());
  pattern.fold = fold;
  if (!rings.empty()) append_rings(cluster, members, rings, turns * (pattern.ranks - 1), pattern);
  pattern.seal();
  return pattern;
}

Pattern plan_ring_all_reduce(const Cluster& cluster, const Placement& members) {
  return plan_ring(CollectiveKind::all_reduce, cluster, members, {});
}

Pattern plan_ring_reduce_scatter(const Cluster& cluster, const Placement& members) {
  return plan_ring(CollectiveKind::reduce_scatter, cluster, members, {});
}

Pattern plan_ring_all_gather(const Cluster& cluster, const Placement& members) {
  return plan_ring(CollectiveKind::all_gather, cluster, members, {});
}

}  // namespace gradwire
