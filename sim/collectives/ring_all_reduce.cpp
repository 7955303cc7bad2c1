#include "sim/collectives/ring_all_reduce.hpp"

#include <cstddef>

#include "sim/collectives/rings.hpp"

namespace gradwire {

Pattern plan_ring_all_reduce(const Cluster& cluster, const Placement& members) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(CollectiveKind::all_reduce, "ring", members, rings.size());
  if (!rings.empty()) {
    const int steps = 2 * (pattern.ranks - 1);
    pattern.phases.push_back({.flows = {}, .steps = steps, .coupling = Coupling::ring});
    pattern.phases.back().flows.reserve(rings.size() * members.size());
    const double share = static_cast<double>(steps) / pattern.ranks / pattern.channels;
    for (std::size_t channel = 0; channel < rings.size(); ++channel) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        append_flow(cluster, members, rings[channel], i, static_cast<int>(channel), share, pattern);
      }
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
