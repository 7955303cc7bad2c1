#include "sim/cost/pattern_facts.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <utility>

namespace gradwire {
namespace {

std::size_t hop_of(LinkKind kind) {
  if (kind == LinkKind::network) return 2;
  return kind == LinkKind::nvlink ? 0 : 1;
}

/// Connections of a flow on a link.
int opened(const Pattern& pattern, const ClusterLink& link) {
  return pattern.connections > 0 ? pattern.connections : link.connections;
}

PhaseWays ways_of(const Pattern& pattern, const Phase& phase, ClusterLinks links) {
  PhaseWays ways;
  std::map<std::pair<int, int>, Seconds> sent;  // from machine to machine, by ranks
  for (const PatternFlow& flow : phase.flows) {
    double per_byte = 0;
    bool leaves = false;
    for (const LinkId id : std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size)) {
      const ClusterLink& link = links[static_cast<std::size_t>(id)];
      const double connected = opened(pattern, link) * link.connection_capacity;
      per_byte = std::max(per_byte, flow.share / std::min(link.capacity, connected));
      leaves = leaves || link.kind == LinkKind::network;
    }
    Seconds& slowest = leaves ? ways.across : ways.inside;
    slowest = std::max(slowest, Seconds{per_byte});
    if (leaves) sent[{flow.source, flow.destination}] += Seconds{per_byte};
  }
  for (const auto& [pair, there] : sent) {
    const auto back = sent.find({pair.second, pair.first});
    if (back != sent.end()) ways.both_ways = std::max(ways.both_ways, there + back->second);
  }
  return ways;
}

}  // namespace

Seconds PatternFacts::latency_max() const {
  return *std::max_element(latency.begin(), latency.end());
}

PatternFacts examine(const Pattern& pattern, ClusterLinks links) {
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
        load[static_cast<std::size_t>(id)] += flow.share;
        per_byte =
            std::max(per_byte, flow.share / (opened(pattern, link) * link.connection_capacity));
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
    facts.ways.push_back(ways_of(pattern, phase, links));
  }
  return facts;
}

const PatternFacts& KnownFacts::of(const Pattern& pattern, ClusterLinks links) const {
  assert(pattern.key != 0);
  const auto known = known_.find(pattern.key);
  if (known != known_.end()) return known->second;
  return known_.emplace(pattern.key, examine(pattern, links)).first->second;
}

}  // namespace gradwire
