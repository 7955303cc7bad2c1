#include "sim/collectives/planners.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "sim/collectives/machines.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/collectives/tree.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

bool is_on_nvswitch(const NodeGraph& node, int gpu) {
  const DeviceGraph& graph = node.graph();
  const DeviceId id = node.gpus()[static_cast<std::size_t>(gpu)];
  const auto& edges = graph.out_edges(id);
  return std::ranges::any_of(
      edges, [&](const auto& edge) { return graph[edge.target].kind == DeviceKind::nvswitch; });
}

void require_nvswitch(const Cluster& cluster, const Placement& members) {
  if (has_nvswitch(cluster, members)) return;
  throw SimulationError(
      "nvls needs NVSwitches between two or more GPUs of each machine; expected another algorithm "
      "('ring', 'tree')");
}

/// What the GPUs of a machine send into their switch and get out of it, as shares of the size.
struct SwitchTraffic {
  double out = 0;
  double in = 0;
};

/// Appends to the last phase one flow for each direction of each GPU's links, each a group of its
/// own: from the GPU into the switch, and out of the switch into the next GPU.
void append_machine(const Cluster& cluster, const Machine& machine, const SwitchTraffic& traffic,
                    int& group, Pattern& pattern) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::size_t next = (i + 1) % machine.gpus.size();
    const std::size_t begin = pattern.path_links.size();
    cluster.append_local(machine.node, machine.gpus[i], machine.gpus[next], pattern.path_links);
    const std::size_t links = pattern.path_links.size() - begin;
    const auto add = [&](double share, std::size_t first, std::size_t count) {
      pattern.phases.back().flows.push_back({.source = machine.ranks[i],
                                             .destination = machine.ranks[next],
                                             .share = share,
                                             .group = group++,
                                             .path_begin = static_cast<std::uint32_t>(first),
                                             .path_size = static_cast<std::uint32_t>(count)});
    };
    if (traffic.out == traffic.in) {
      add(traffic.out, begin, links);
    } else {
      add(traffic.out, begin, 1);
      add(traffic.in, begin + 1, links - 1);
    }
  }
}

Pattern plan_nvls(CollectiveKind kind, const Cluster& cluster, const Placement& members) {
  Pattern pattern = start_pattern(kind, "nvls", members, 1);
  if (members.size() >= 2) {
    if (pattern.machines > 1) {
      throw SimulationError(
          "nvls reduces inside one machine; expected nvls_tree, ring or tree on several");
    }
    require_nvswitch(cluster, members);
    const double owned = 1.0 / pattern.ranks;
    SwitchTraffic traffic{1 + owned, 1 + owned};
    if (kind == CollectiveKind::reduce_scatter) traffic = {1, owned};
    if (kind == CollectiveKind::all_gather) traffic = {owned, 1};
    const int steps = kind == CollectiveKind::all_reduce ? 2 : 1;
    pattern.phases.push_back({.flows = {}, .steps = steps, .coupling = Coupling::independent});
    int group = 0;
    append_machine(cluster, machines_of(cluster, members).front(), traffic, group, pattern);
  }
  pattern.seal();
  return pattern;
}

}  // namespace

bool has_nvswitch(const Cluster& cluster, const Placement& members) {
  std::map<int, int> gpus;
  for (const GpuRef& member : members) ++gpus[member.node];
  return std::all_of(members.begin(), members.end(), [&](const GpuRef& member) {
    return gpus[member.node] >= 2 && is_on_nvswitch(cluster.node(member.node), member.gpu);
  });
}

Pattern plan_nvls_all_reduce(const Cluster& cluster, const Placement& members) {
  return plan_nvls(CollectiveKind::all_reduce, cluster, members);
}

Pattern plan_nvls_reduce_scatter(const Cluster& cluster, const Placement& members) {
  return plan_nvls(CollectiveKind::reduce_scatter, cluster, members);
}

Pattern plan_nvls_all_gather(const Cluster& cluster, const Placement& members) {
  return plan_nvls(CollectiveKind::all_gather, cluster, members);
}

Pattern plan_nvls_tree_all_reduce(const Cluster& cluster, const Placement& members) {
  const std::vector<RankRing> rings = plan_rings(cluster, members);
  Pattern pattern = start_pattern(CollectiveKind::all_reduce, "nvls_tree", members, rings.size());
  if (!rings.empty()) {
    if (pattern.machines == 1) {
      throw SimulationError("nvls_tree joins several machines; expected nvls on one");
    }
    require_nvswitch(cluster, members);
    pattern.phases.push_back({.flows = {}, .steps = tree_pieces, .coupling = Coupling::pipeline});
    pattern.phases.back().flows.reserve(
        4 * rings.size() * static_cast<std::size_t>(pattern.machines) + members.size());
    RankFlows flows(cluster, members, 1.0 / (2 * pattern.channels), pattern);
    int group = 0;
    for (const RankRing& ring : rings) {
      const std::vector<MachineChain> chains = chains_of(ring, members);
      for (const DoubleTree which : {DoubleTree::first, DoubleTree::second}) {
        append_machine_tree(chains, which, group++, false, flows);
      }
    }
    for (const Machine& machine : machines_of(cluster, members)) {
      const double both = 1 + 1.0 / static_cast<double>(machine.gpus.size());
      append_machine(cluster, machine, {both, both}, group, pattern);
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
