#include "sim/collectives/broadcast.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/collectives/rings.hpp"

namespace gradwire {

Pattern plan_broadcast(const Cluster& cluster, const Placement& members) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(CollectiveKind::broadcast, "ring", members, rings.size());
  if (!rings.empty()) {
    pattern.phases.push_back({.flows = {}, .steps = chain_pieces, .coupling = Coupling::pipeline});
    pattern.phases.back().flows.reserve(rings.size() * (members.size() - 1));
    const double share = 1.0 / pattern.channels;
    for (std::size_t channel = 0; channel < rings.size(); ++channel) {
      const RankRing& ring = rings[channel];
      const auto root = static_cast<std::size_t>(
          std::find(ring.order.begin(), ring.order.end(), 0) - ring.order.begin());
      for (std::size_t hop = 0; hop + 1 < members.size(); ++hop) {
        append_flow(cluster, members, ring, (root + hop) % members.size(),
                    static_cast<int>(channel), share, pattern);
      }
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
