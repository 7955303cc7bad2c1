#include "sim/core/fabric.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/random.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t no_distance = std::numeric_limits<std::int64_t>::max();

/// Latency decides, in whole picoseconds so that sums in another order tie; of equal ones the
/// number of trunks, of which no way has this many.
std::int64_t cost_of(const Link& trunk) {
  constexpr std::int64_t trunks_max = 1024;
  constexpr double picosecond = 1e-12;
  return std::llround(trunk.latency.count() / picosecond) * trunks_max + 1;
}

}  // namespace

Fabric::SwitchId Fabric::add_switch(std::string name, int count) {
  found_ = std::make_shared<Found>();
  return graph_.add(Switch{.name = std::move(name), .count = count});
}

void Fabric::connect(SwitchId a, SwitchId b, const Link& link) {
  assert(a != b && link.bandwidth.count() > 0 && link.latency.count() >= 0);
  found_ = std::make_shared<Found>();
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    graph_.join(from, to, link);
  }
}

int Fabric::attach(SwitchId at) {
  assert(at < graph_.vertices().size());
  auto spec = std::find(specs_.begin(), specs_.end(), port);
  if (spec == specs_.end()) spec = specs_.insert(spec, port);
  port_spec_.push_back(static_cast<std::uint32_t>(spec - specs_.begin()));
  port_switch_.push_back(at);
  return port_count() - 1;
}

Fabric::SwitchId Fabric::switch_of(int port_index) const {
  return port_switch_[static_cast<std::size_t>(port_index)];
}

const PortSpec& Fabric::port_spec(int port_index) const {
  return specs_[port_spec_[static_cast<std::size_t>(port_index)]];
}

int Fabric::island_of(int port_index) const {
  std::call_once(found_->has_islands, [this] { found_->islands = find_islands(); });
  return found_->islands[switch_of(port_index)];
}

std::vector<int> Fabric::find_islands() const {
  std::vector<int> island(graph_.vertices().size(), -1);
  int islands = 0;
  std::vector<SwitchId> open;
  for (const SwitchId first : graph_.vertices()) {
    if (island[first] >= 0) continue;
    island[first] = islands;
    open.push_back(first);
    while (!open.empty()) {
      const SwitchId at = open.back();
      open.pop_back();
      for (const auto& trunk : graph_.out_edges(at)) {
        const SwitchId next = trunk.target;
        if (island[next] >= 0) continue;
        island[next] = islands;
        open.push_back(next);
      }
    }
    ++islands;
  }
  return island;
}

int Fabric::trunk_between(SwitchId from, SwitchId to) const {
  const auto& trunks = graph_.out_edges(from);
  const auto trunk = std::ranges::find(trunks, to, &SwitchGraph::Edge::target);
  assert(trunk != trunks.end());
  return trunk->number;
}

const std::vector<Fabric::Cost>& Fabric::costs_to(SwitchId to) const {
  Found& found = *found_;
  std::call_once(found.has_switches, [&] {
    found.costs.resize(graph_.vertices().size());
    found.has_costs =
        std::make_unique<std::once_flag[]>(found.costs.size());  // NOLINT(modernize-avoid-c-arrays)
  });
  std::call_once(found.has_costs[to], [&] { found.costs[to] = find_costs(to); });
  return found.costs[to];
}

std::vector<Fabric::Cost> Fabric::find_costs(SwitchId to) const {
  std::vector<Cost> costs(graph_.vertices().size(), no_distance);
  // Trunks are alike in both directions: the routes from `to` are the routes to it.
  using Entry = std::pair<Cost, SwitchId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  costs[to] = 0;
  open.emplace(0, to);
  while (!open.empty()) {
    const auto [cost, at] = open.top();
    open.pop();
    if (cost > costs[at]) continue;
    for (const auto& trunk : graph_.out_edges(at)) {
      const SwitchId next = trunk.target;
      const Cost reached = cost + cost_of(graph_[trunk]);
      if (reached >= costs[next]) continue;
      costs[next] = reached;
      open.emplace(reached, next);
    }
  }
  return costs;
}

void Fabric::best_trunks(SwitchId at, const std::vector<Cost>& costs,
                         std::vector<SwitchGraph::Edge>& out) const {
  out.clear();
  for (const auto& trunk : graph_.out_edges(at)) {
    const Cost rest = costs[trunk.target];
    if (rest != no_distance && rest + cost_of(graph_[trunk]) == costs[at]) out.push_back(trunk);
  }
}

std::size_t Fabric::choices(SwitchId from, SwitchId to) const {
  std::vector<SwitchGraph::Edge> trunks;
  if (from != to) best_trunks(from, costs_to(to), trunks);
  return trunks.size();
}

std::vector<int> Fabric::route(int port_from, int port_to) const {
  const SwitchId from = switch_of(port_from);
  const SwitchId to = switch_of(port_to);
  std::vector<int> numbers;
  if (from == to) return numbers;
  if (!reaches(port_from, port_to)) {
    throw SimulationError("fabric: no path from " + graph_[from].name + " to " + graph_[to].name);
  }
  std::uint64_t pick = absorb(absorb(absorb(0, ecmp_seed), static_cast<std::uint64_t>(port_from)),
                              static_cast<std::uint64_t>(port_to));
  if (rule) return rule(*this, from, to, pick);
  const auto& costs = costs_to(to);
  std::vector<SwitchGraph::Edge> trunks;
  for (SwitchId at = from; at != to; at = trunks.front().target) {
    best_trunks(at, costs, trunks);
    // Every switch hashes by its own key: with one key the second choice would follow the first.
    pick = absorb(pick, at);
    std::swap(trunks.front(), trunks[pick % trunks.size()]);
    numbers.push_back(trunks.front().number);
  }
  return numbers;
}

}  // namespace gradwire
