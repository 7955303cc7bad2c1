#include "sim/collectives/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/refusal.hpp"

namespace gradwire {

std::vector<int> nodes_of(const Placement& members) {
  std::vector<int> nodes;
  for (const GpuRef& member : members) {
    if (nodes.empty() || nodes.back() != member.node) nodes.push_back(member.node);
  }
  if (std::ranges::is_sorted(nodes)) return nodes;
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<Machine> machines_of(const Cluster& cluster, const Placement& members) {
  std::vector<Machine> machines;
  std::unordered_map<int, std::size_t> known;  // looked up, never walked
  std::size_t here = 0;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const int node = members[rank].node;
    if (machines.empty() || machines[here].node != node) {
      const auto [entry, is_new] = known.try_emplace(node, machines.size());
      const std::size_t before = machines.empty() ? 0 : machines[here].ranks.size();
      here = entry->second;
      if (is_new) {
        machines.push_back({.node = node, .gpus = {}, .ranks = {}});
        machines.back().ranks.reserve(before);
      }
    }
    machines[here].ranks.push_back(static_cast<int>(rank));
  }
  const auto gpu = [&](int rank) { return members[static_cast<std::size_t>(rank)].gpu; };
  for (Machine& machine : machines) {
    machine.gpus.reserve(machine.ranks.size());
    std::sort(machine.ranks.begin(), machine.ranks.end(),
              [&](int a, int b) { return std::pair(gpu(a), a) < std::pair(gpu(b), b); });
    for (const int rank : machine.ranks) {
      if (!machine.gpus.empty() && machine.gpus.back() == gpu(rank)) {
        throw SimulationError(fmt::format("two ranks share gpu{} of node{}; each needs its own",
                                          gpu(rank), machine.node));
      }
      machine.gpus.push_back(gpu(rank));
    }
    const NodeGraph& node = cluster.node(machine.node);
    if (machines.size() > 1 && node.nics().empty()) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::cluster,
          fmt::format("node{} ({}) has no NIC, but the job spans {} machines", machine.node,
                      node.name, machines.size()));
    }
  }
  return machines;
}

}  // namespace gradwire
