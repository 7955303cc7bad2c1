#include "sim/collectives/planners.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/collectives/rank_flows.hpp"
#include "sim/collectives/rings.hpp"

namespace gradwire {
namespace {

/// All rings but for one hop each: the n-1 hops after the `skipped` ones that follow the root.
Pattern plan_chains(CollectiveKind kind, std::size_t skipped, const Cluster& cluster,
                    const Placement& members) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(kind, "ring", members, rings.size());
  if (!rings.empty()) {
    pattern.phases.push_back({.flows = {}, .steps = chain_pieces, .coupling = Coupling::pipeline});
    pattern.phases.back().flows.reserve(rings.size() * (members.size() - 1));
    RankFlows flows(cluster, members, 1.0 / pattern.channels, pattern);
    for (std::size_t channel = 0; channel < rings.size(); ++channel) {
      const RankRing& ring = rings[channel];
      const auto root = static_cast<std::size_t>(
          std::find(ring.order.begin(), ring.order.end(), 0) - ring.order.begin());
      for (std::size_t hop = 0; hop + 1 < members.size(); ++hop) {
        flows.along(ring, (root + skipped + hop) % members.size(), static_cast<int>(channel));
      }
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace

Pattern plan_broadcast(const Cluster& cluster, const Placement& members) {
  return plan_chains(CollectiveKind::broadcast, 0, cluster, members);
}

Pattern plan_chain_reduce(const Cluster& cluster, const Placement& members) {
  return plan_chains(CollectiveKind::reduce, 1, cluster, members);
}

}  // namespace gradwire
