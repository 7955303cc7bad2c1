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

std::vector<Machine> machines_of(const Cluster& cluster, const Placement& members) {
  std::vector<Machine> machines;
  std::unordered_map<int, std::size_t> known;  // looked up, never walked
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const auto [entry, is_new] = known.try_emplace(members[rank].node, machines.size());
    if (is_new) machines.push_back({.node = members[rank].node, .gpus = {}, .ranks = {}});
    machines[entry->second].ranks.push_back(static_cast<int>(rank));
  }
  const auto gpu = [&](int rank) { return members[static_cast<std::size_t>(rank)].gpu; };
  for (Machine& machine : machines) {
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
