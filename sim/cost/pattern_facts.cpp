#include "sim/cost/pattern_facts.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace gradwire {
namespace {

std::size_t hop_of(LinkKind kind) {
  if (kind == LinkKind::network) return 2;
  return kind == LinkKind::nvlink ? 0 : 1;
}

}  // namespace

Seconds PatternFacts::latency_max() const {
  return *std::max_element(latency.begin(), latency.end());
}

PatternFacts examine(const Pattern& pattern, std::span<const ClusterLink> links) {
  PatternFacts facts;
  std::vector<double> load(links.size());
  for (const Phase& phase : pattern.phases) {
    double per_byte = 0;
    for (const PatternFlow& flow : phase.flows) {
      std::size_t hop = 0;
      Seconds latency;
      for (const LinkId id :
           std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size)) {
        const ClusterLink& link = links[static_cast<std::size_t>(id)];
        const int opened = pattern.connections > 0 ? pattern.connections : link.connections;
        load[static_cast<std::size_t>(id)] += flow.share;
        per_byte = std::max(per_byte, flow.share / (opened * link.connection_capacity));
        latency += Seconds{link.latency};
        hop = std::max(hop, hop_of(link.kind));
      }
      facts.latency[hop] = std::max(facts.latency[hop], latency);
    }
    for (std::size_t id = 0; id < load.size(); ++id) {
      per_byte = std::max(per_byte, load[id] / links[id].capacity);
      load[id] = 0;
    }
    facts.per_byte.emplace_back(per_byte);
  }
  return facts;
}

const PatternFacts& KnownFacts::of(const Pattern& pattern,
                                   std::span<const ClusterLink> links) const {
  assert(pattern.key != 0);
  const auto known = known_.find(pattern.key);
  if (known != known_.end()) return known->second;
  return known_.emplace(pattern.key, examine(pattern, links)).first->second;
}

}  // namespace gradwire
