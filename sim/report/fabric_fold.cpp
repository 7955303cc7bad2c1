#include "sim/report/fabric_fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/core/switch_classes.hpp"

namespace gradwire {
namespace {

using PortCounts = std::vector<std::map<std::size_t, int>>;  ///< by switch: port kind -> ports

PortCounts count_ports(const Fabric& fabric) {
  PortCounts counts(fabric.graph().vertices().size());
  const auto& specs = fabric.port_specs();
  for (int port = 0; port < fabric.port_count(); ++port) {
    const auto spec = std::find(specs.begin(), specs.end(), fabric.port_spec(port));
    ++counts[fabric.switch_of(port)][static_cast<std::size_t>(spec - specs.begin())];
  }
  return counts;
}

std::vector<int> classes_of(const Fabric& fabric, const PortCounts& ports,
                            std::size_t unfolded_max) {
  std::vector<int> colour(ports.size());
  if (ports.size() <= unfolded_max) {
    std::iota(colour.begin(), colour.end(), 0);
    return colour;
  }
  std::map<std::pair<std::map<std::size_t, int>, int>, int> known;
  for (std::size_t id = 0; id < ports.size(); ++id) {
    const std::pair key(ports[id], fabric.graph()[id].count);
    colour[id] = known.try_emplace(key, static_cast<int>(known.size())).first->second;
  }
  return switch_classes(fabric, std::move(colour));
}

/// Trunks to the nearest switch with ports, by switch.
std::vector<int> tiers_of(const Fabric& fabric, const PortCounts& ports) {
  constexpr int far = std::numeric_limits<int>::max();
  std::vector<int> tier(ports.size(), far);
  std::queue<Fabric::SwitchId> open;
  for (std::size_t id = 0; id < ports.size(); ++id) {
    if (ports[id].empty()) continue;
    tier[id] = 0;
    open.push(id);
  }
  for (; !open.empty(); open.pop()) {
    const auto at = open.front();
    for (const auto& edge : fabric.graph().out_edges(at)) {
      const auto next = edge.target;
      if (tier[next] != far) continue;
      tier[next] = tier[at] + 1;
      open.push(next);
    }
  }
  std::replace(tier.begin(), tier.end(), far, 0);  // a switch that nothing hangs on
  return tier;
}

void add_trunk(SwitchGroup& group, std::size_t to, const Link& link) {
  const BytesPerSecond cable = (1.0 / link.lanes) * link.bandwidth;
  for (auto& trunks : group.trunks) {
    if (trunks.to != to || trunks.bandwidth != cable || trunks.latency != link.latency) continue;
    trunks.count += link.lanes;
    return;
  }
  group.trunks.push_back({to, link.lanes, cable, link.latency});
}

}  // namespace

FoldedFabric fold(const Fabric& fabric, std::size_t unfolded_max) {
  const auto& graph = fabric.graph();
  const PortCounts ports = count_ports(fabric);
  const std::vector<int> tiers = tiers_of(fabric, ports);
  FoldedFabric folded;
  for (const int id : classes_of(fabric, ports, unfolded_max)) {
    folded.group_of.push_back(static_cast<std::size_t>(id));
  }
  for (std::size_t id = 0; id < ports.size(); ++id) {
    const std::size_t at = folded.group_of[id];
    if (at == folded.groups.size()) {
      SwitchGroup group;
      group.first = graph[id].name;
      group.tier = tiers[id];
      for (const auto& [spec, count] : ports[id]) group.ports.push_back({spec, count});
      for (const auto& edge : graph.out_edges(id)) {
        add_trunk(group, folded.group_of[edge.target], graph[edge]);
      }
      folded.groups.push_back(std::move(group));
    }
    folded.groups[at].last = graph[id].name;
    folded.groups[at].switches += graph[id].count;
  }
  // A switch that stands for several has all their cables; one of them has its part.
  for (std::size_t id = 0; id < ports.size(); ++id) {
    SwitchGroup& group = folded.groups[folded.group_of[id]];
    if (group.first != graph[id].name) continue;
    for (auto& trunks : group.trunks) trunks.count /= graph[id].count;
  }
  return folded;
}

std::string title(const SwitchGroup& group) {
  if (group.switches == 1) return group.first;
  return group.first == group.last
             ? fmt::format("{} x {}", group.first, group.switches)
             : fmt::format("{} ... {} x {}", group.first, group.last, group.switches);
}

int switch_count(const Fabric& fabric) {
  int count = 0;
  for (const auto id : fabric.graph().vertices()) {
    count += fabric.graph()[id].count;
  }
  return count;
}

}  // namespace gradwire
