#include "sim/collectives/planners.hpp"

#include <set>
#include <utility>

#include "sim/collectives/schedule.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

constexpr const char* pat_name = "pat";

/// In the round of distance d every tree sends along the edges i -> i + d that its nodes i (all
/// multiples of 2d) have; the trees of all ranks are the same one, shifted, so that every rank
/// sends one part for each such edge.
Schedule tree_rounds(int ranks) {
  Schedule schedule;
  int distance = 1;
  while (2 * distance < ranks) distance *= 2;
  for (; distance >= 1; distance /= 2) {
    int edges = 0;
    for (int node = 0; node + distance < ranks; node += 2 * distance) ++edges;
    Round round;
    for (int rank = 0; rank < ranks; ++rank) {
      round.messages.push_back({.source = rank,
                                .destination = (rank + distance) % ranks,
                                .share = static_cast<double>(edges) / ranks});
    }
    schedule.push_back(std::move(round));
  }
  return schedule;
}

void require_lone_gpus(const Placement& members) {
  std::set<int> machines;
  for (const GpuRef& member : members) machines.insert(member.node);
  if (machines.size() == members.size()) return;
  throw SimulationError(
      "pat runs with one rank in each machine; expected gpus_per_node: 1 or the algorithm 'ring'");
}

}  // namespace

Pattern plan_pat_all_gather(const Cluster& cluster, const Placement& members) {
  require_lone_gpus(members);
  const Schedule rounds = tree_rounds(static_cast<int>(members.size()));
  return lay_out(rounds, CollectiveKind::all_gather, pat_name, cluster, members);
}

Pattern plan_pat_reduce_scatter(const Cluster& cluster, const Placement& members) {
  require_lone_gpus(members);
  const Schedule rounds = tree_rounds(static_cast<int>(members.size()));
  return lay_out(mirrored(rounds), CollectiveKind::reduce_scatter, pat_name, cluster, members);
}

}  // namespace gradwire
