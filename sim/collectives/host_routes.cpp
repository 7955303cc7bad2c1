#include "sim/collectives/host_routes.hpp"

#include <cassert>
#include <cstddef>
#include <string>
#include <utility>

#include "sim/collectives/rings.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

/// A pattern of one channel whose flows get their routes from through_host.
Pattern start(CollectiveKind kind, const std::string& algorithm, const Placement& members) {
  return start_pattern(kind, algorithm, members, /*channels=*/1);
}

void add_flow(Phase& phase, int source, int destination, double share) {
  PatternFlow flow;
  flow.source = source;
  flow.destination = destination;
  flow.share = share;
  phase.flows.push_back(flow);
}

Phase ring_phase(int ranks) {
  Phase phase;
  phase.steps = ranks - 1;
  phase.coupling = Coupling::ring;
  const double share = static_cast<double>(ranks - 1) / ranks;
  for (int rank = 0; rank < ranks; ++rank) add_flow(phase, rank, (rank + 1) % ranks, share);
  return phase;
}

Phase gather_phase(int ranks) {
  Phase phase;
  for (int rank = 1; rank < ranks; ++rank) add_flow(phase, rank, 0, 1.0 / ranks);
  return phase;
}

}  // namespace

Pattern through_host(Pattern pattern, const Cluster& cluster, const Placement& members) {
  pattern.path_links.clear();
  pattern.connections = 1;
  const auto place = [&](int rank) { return members[static_cast<std::size_t>(rank)]; };
  for (Phase& phase : pattern.phases) {
    for (PatternFlow& flow : phase.flows) {
      const std::size_t begin = pattern.path_links.size();
      cluster.append_through_host(place(flow.source), place(flow.destination), host_nic,
                                  pattern.path_links);
      flow.path_begin = static_cast<std::uint32_t>(begin);
      flow.path_size = static_cast<std::uint32_t>(pattern.path_links.size() - begin);
    }
  }
  pattern.seal();
  return pattern;
}

Pattern plan_rank_ring(CollectiveKind kind, const Cluster& cluster, const Placement& members) {
  assert(kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce);
  Pattern pattern = start(kind, "ring", members);
  if (pattern.ranks > 1) {
    pattern.phases.push_back(ring_phase(pattern.ranks));
    if (kind == CollectiveKind::all_reduce) pattern.phases.push_back(ring_phase(pattern.ranks));
    if (kind == CollectiveKind::reduce) pattern.phases.push_back(gather_phase(pattern.ranks));
  }
  return through_host(std::move(pattern), cluster, members);
}

Pattern plan_eager_tree_broadcast(const Cluster& cluster, const Placement& members) {
  Pattern pattern = start(CollectiveKind::broadcast, "binomial_tree", members);
  if (pattern.ranks > 1) {
    Phase phase;
    phase.coupling = Coupling::pipeline;
    // In the order of distances a rank receives before it sends.
    for (int distance = 1; distance < pattern.ranks; distance *= 2) {
      for (int rank = 0; rank < distance && rank + distance < pattern.ranks; ++rank) {
        add_flow(phase, rank, rank + distance, 1);
      }
    }
    pattern.phases.push_back(std::move(phase));
  }
  return through_host(std::move(pattern), cluster, members);
}

}  // namespace gradwire
