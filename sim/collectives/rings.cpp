#include "sim/collectives/rings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "sim/collectives/machines.hpp"
#include "sim/collectives/rank_flows.hpp"
#include "sim/collectives/ring_search.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

/// How one ring passes one machine.
struct Passage {
  int nic = -1;
  int exit = -1;   ///< GPU through which it leaves, as an index into Machine::gpus
  GpuOrder order;  ///< indices into Machine::gpus
};
using Passages = std::vector<Passage>;

LaneMatrix lanes_of(const NodeGraph& node, const std::vector<int>& gpus) {
  LaneMatrix matrix{.gpus = static_cast<int>(gpus.size()), .lanes = {}, .ports = {}};
  const auto device = [&](int gpu) { return node.gpus()[static_cast<std::size_t>(gpu)]; };
  for (const int from : gpus) {
    for (const int to : gpus) {
      matrix.lanes.push_back(from == to ? 0 : node.nvlink_lanes(device(from), device(to)));
    }
    int ports = 0;
    for (const auto& edge : node.graph().out_edges(device(from))) {
      const Link& link = node.graph()[edge];
      if (link.kind == LinkKind::nvlink) ports += link.lanes;
    }
    matrix.ports.push_back(ports);
  }
  return matrix;
}

/// Latency between two devices in whole picoseconds, so that sums in another order tie.
std::int64_t picoseconds_between(const NodeGraph& node, DeviceId from, DeviceId to) {
  constexpr double picoseconds = 1e12;
  return std::llround(node.latency(node.route(from, to)).count() * picoseconds);
}

/// The machine as the search for rings sees it: its taking-part GPUs count from 0.
class Inside {
 public:
  Inside(const NodeGraph& node, const std::vector<int>& gpus)
      : node_(node), gpus_(gpus), from_(gpus.size()) {
    for (const int gpu : gpus) ids_.push_back(node.gpus()[static_cast<std::size_t>(gpu)]);
  }

  [[nodiscard]] int size() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] LaneMatrix lanes() const { return lanes_of(node_, gpus_); }

  /// From each GPU to a NIC.
  [[nodiscard]] std::vector<std::int64_t> distances(DeviceId nic) const {
    std::vector<std::int64_t> result;
    for (const DeviceId gpu : ids_) result.push_back(picoseconds_between(node_, gpu, nic));
    return result;
  }

  /// The NIC that each GPU would take by itself.
  [[nodiscard]] std::vector<int> own_nics() const {
    std::vector<int> result;
    for (const DeviceId gpu : ids_) result.push_back(node_.nics_by_distance(gpu).front());
    return result;
  }

  /// Do NVSwitches join all the GPUs? Then any order will do, and the lanes are shared.
  [[nodiscard]] bool is_switched() const {
    const auto& graph = node_.graph();
    return std::all_of(ids_.begin(), ids_.end(), [&](DeviceId gpu) {
      const auto& edges = graph.out_edges(gpu);
      return std::ranges::any_of(
          edges, [&](const auto& edge) { return graph[edge.target].kind == DeviceKind::nvswitch; });
    });
  }

  /// The GPU that the last one of a path sends through to a NIC: itself, or the first.
  [[nodiscard]] int exit_of(const GpuOrder& order, const std::vector<std::int64_t>& to_nic) const {
    const auto at = [](int gpu) { return static_cast<std::size_t>(gpu); };
    const bool nearer = to_nic[at(order.front())] < to_nic[at(order.back())];
    const bool joined = node_.nvlink_lanes(ids_[at(order.back())], ids_[at(order.front())]) > 0;
    return nearer && joined ? order.front() : order.back();
  }

  /// All GPUs from `ends.first` to `ends.last`, each the nearest to the one before; of equally near
  /// ones the lowest index.
  [[nodiscard]] GpuOrder by_closeness(const PathEnds& ends) {
    GpuOrder order{ends.first};
    std::vector<int> left;
    for (int gpu = 0; gpu < size(); ++gpu) {
      if (gpu != ends.first && gpu != ends.last) left.push_back(gpu);
    }
    while (!left.empty()) {
      const auto& from = distances_from(order.back());
      const auto next = std::min_element(left.begin(), left.end(), [&](int a, int b) {
        return from[static_cast<std::size_t>(a)] < from[static_cast<std::size_t>(b)];
      });
      order.push_back(*next);
      left.erase(next);
    }
    if (ends.last != ends.first) order.push_back(ends.last);
    return order;
  }

 private:
  /// To each GPU: seldom asked for, where NVLinks make the rings.
  const std::vector<std::int64_t>& distances_from(int gpu) {
    const auto from = static_cast<std::size_t>(gpu);
    if (from_[from].empty()) {
      for (const DeviceId to : ids_) {
        from_[from].push_back(picoseconds_between(node_, ids_[from], to));
      }
    }
    return from_[from];
  }

  const NodeGraph& node_;
  const std::vector<int>& gpus_;
  std::vector<DeviceId> ids_;
  std::vector<std::vector<std::int64_t>> from_;  ///< [gpu]: distances_from(); empty: not asked for
};

Passages rings_inside(const NodeGraph& node, const std::vector<int>& gpus) {
  Inside inside(node, gpus);
  Passages passages;
  for (GpuOrder& order : find_rings(inside.lanes())) {
    passages.push_back({.nic = -1, .exit = -1, .order = std::move(order)});
  }
  if (passages.empty())
    passages.push_back({.nic = -1, .exit = -1, .order = inside.by_closeness({0, 0})});
  return passages;
}

/// All pairs of different GPUs (one GPU: with itself) for a ring through a NIC, the best first: the
/// nearest to the NIC; then a first GPU whose own NIC it is; then the last GPU that follows the
/// first, so that the rings of a machine spread over its GPUs.
std::vector<PathEnds> ends_by_distance(const std::vector<std::int64_t>& distance,
                                       const std::vector<int>& own_nics, int nic) {
  const int gpus = static_cast<int>(distance.size());
  if (gpus == 1) return {{0, 0}};
  std::vector<PathEnds> pairs;
  for (int first = 0; first < gpus; ++first) {
    for (int step = 1; step < gpus; ++step) pairs.push_back({first, (first + step) % gpus});
  }
  const auto far = [&](const PathEnds& ends) {
    const auto first = static_cast<std::size_t>(ends.first);
    return std::tuple(distance[first] + distance[static_cast<std::size_t>(ends.last)],
                      distance[first], own_nics[first] != nic);
  };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const PathEnds& a, const PathEnds& b) { return far(a) < far(b); });
  return pairs;
}

Passages paths_through(const NodeGraph& node, const std::vector<int>& gpus, bool relay) {
  Inside inside(node, gpus);
  const std::vector<int> own_nics = inside.own_nics();
  std::vector<std::vector<std::int64_t>> distance;  // [nic][gpu]
  for (const DeviceId nic : node.nics()) distance.push_back(inside.distances(nic));
  std::vector<int> nics;
  std::vector<std::vector<PathEnds>> ends;
  for (std::size_t nic = 0; nic < distance.size(); ++nic) {
    bool is_nearest = false;
    for (std::size_t gpu = 0; gpu < gpus.size() && !is_nearest; ++gpu) {
      is_nearest = std::all_of(distance.begin(), distance.end(),
                               [&](const auto& other) { return distance[nic][gpu] <= other[gpu]; });
    }
    if (!is_nearest) continue;
    nics.push_back(static_cast<int>(nic));
    ends.push_back(ends_by_distance(distance[nic], own_nics, nics.back()));
  }
  Passages passages;
  if (!inside.is_switched()) {
    for (GpuOrder& order : find_paths(inside.lanes(), ends)) {
      passages.push_back({.nic = nics[passages.size()], .exit = -1, .order = std::move(order)});
    }
  }
  if (passages.empty()) {
    for (std::size_t i = 0; i < nics.size(); ++i) {
      passages.push_back(
          {.nic = nics[i], .exit = -1, .order = inside.by_closeness(ends[i].front())});
    }
  }
  for (Passage& passage : passages) {
    passage.exit =
        relay ? inside.exit_of(passage.order, distance[static_cast<std::size_t>(passage.nic)])
              : passage.order.back();
  }
  return passages;
}

}  // namespace

std::vector<RankRing> plan_rings(const Cluster& cluster, const Placement& members) {
  if (members.size() < 2) return {};
  const std::vector<Machine> machines = machines_of(cluster, members);
  const bool is_local = machines.size() == 1;

  // Thousands of machines are of few kinds: each kind is searched once.
  std::map<std::pair<const NodeGraph*, std::vector<int>>, Passages> known;
  std::vector<const Passages*> passages;
  for (const Machine& machine : machines) {
    const NodeGraph& node = cluster.node(machine.node);
    const auto [entry, is_new] = known.try_emplace({&node, machine.gpus});
    if (is_new) {
      entry->second = is_local ? rings_inside(node, machine.gpus)
                               : paths_through(node, machine.gpus, cluster.gpus_relay());
    }
    passages.push_back(&entry->second);
  }
  const Passages* fewest = *std::min_element(
      passages.begin(), passages.end(), [](auto* a, auto* b) { return a->size() < b->size(); });

  std::vector<RankRing> rings(fewest->size());
  for (std::size_t channel = 0; channel < rings.size(); ++channel) {
    RankRing& ring = rings[channel];
    ring.order.reserve(members.size());
    ring.nic.reserve(members.size());
    ring.exit.reserve(members.size());
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const Passage& passage = (*passages[i])[channel];
      for (const int gpu : passage.order) {
        ring.order.push_back(machines[i].ranks[static_cast<std::size_t>(gpu)]);
        ring.nic.push_back(passage.nic);
        ring.exit.push_back(
            passage.exit < 0 ? -1 : machines[i].gpus[static_cast<std::size_t>(passage.exit)]);
      }
    }
  }
  return rings;
}

Pattern start_pattern(CollectiveKind kind, const std::string& algorithm, const Placement& members,
                      std::size_t channels) {
  Pattern pattern;
  pattern.kind = kind;
  pattern.algorithm = algorithm;
  pattern.ranks = static_cast<int>(members.size());
  pattern.machines = static_cast<int>(nodes_of(members).size());
  pattern.channels = static_cast<int>(channels);
  return pattern;
}

void append_rings(const Cluster& cluster, const Placement& members,
                  const std::vector<RankRing>& rings, int steps, Pattern& pattern) {
  pattern.phases.push_back({.flows = {}, .steps = steps, .coupling = Coupling::ring});
  Phase& phase = pattern.phases.back();
  if (pattern.is_folded()) {
    const auto machines = static_cast<std::size_t>(pattern.machines);
    phase.flows.reserve(rings.size() * (machines + static_cast<std::size_t>(pattern.fold.ranks)));
    phase.runs.reserve(2 * rings.size() * machines);
  } else {
    phase.flows.reserve(rings.size() * members.size());
  }
  RankFlows flows(cluster, members, static_cast<double>(steps) / pattern.ranks / pattern.channels,
                  pattern);
  const auto machine_of = [&](int rank) { return members[static_cast<std::size_t>(rank)].node; };
  for (std::size_t channel = 0; channel < rings.size(); ++channel) {
    const RankRing& ring = rings[channel];
    const auto group = static_cast<int>(channel);
    for (std::size_t begin = 0; begin < members.size();) {
      std::size_t end = begin + 1;
      const int machine = machine_of(ring.order[begin]);
      while (end < members.size() && machine_of(ring.order[end]) == machine) ++end;
      flows.chain(std::span(ring.order).subspan(begin, end - begin), group);
      flows.along(ring, end - 1, group);
      begin = end;
    }
  }
}

}  // namespace gradwire
