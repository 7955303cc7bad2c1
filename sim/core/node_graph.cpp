#include "sim/core/node_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include "sim/core/error.hpp"
#include "sim/core/path_search.hpp"

namespace gradwire {
namespace {

std::string_view default_name(DeviceKind kind) {
  constexpr std::array<std::string_view, 6> names = {"gpu",    "numa",     "bridge",
                                                     "switch", "nvswitch", "nic"};
  return names.at(static_cast<std::size_t>(kind));
}

/// The kind of link whose traffic meets inside a device.
LinkKind traffic_of(DeviceKind kind) {
  if (kind == DeviceKind::nvswitch) return LinkKind::nvlink;
  return kind == DeviceKind::numa ? LinkKind::smp : LinkKind::pcie;
}

bool is_nvlink(LinkKind kind) {
  return kind == LinkKind::nvlink;
}
bool is_not_nvlink(LinkKind kind) {
  return kind != LinkKind::nvlink;
}

/// Bytes per second through a device; GPUs and NICs end a path and pass nothing on.
double width(const Device& device) {
  if (device.kind == DeviceKind::gpu || device.kind == DeviceKind::nic) return 0;
  return device.transit ? device.transit->count() : std::numeric_limits<double>::infinity();
}

}  // namespace

DeviceId NodeGraph::add(Device device) {
  device.index = static_cast<int>(std::ranges::count_if(
      graph_.vertices(), [&](DeviceId id) { return graph_[id].kind == device.kind; }));
  if (device.name.empty())
    device.name = fmt::format("{}{}", default_name(device.kind), device.index);
  assert(!find(device.name));
  if (device.transit) {
    resources_.push_back(
        {device.name, traffic_of(device.kind), *device.transit, Seconds{}, /*lanes=*/1});
  }
  const DeviceKind kind = device.kind;
  const DeviceId id = graph_.add(std::move(device));
  if (kind == DeviceKind::gpu) gpus_.push_back(id);
  if (kind == DeviceKind::nic) nics_.push_back(id);
  return id;
}

void NodeGraph::connect(DeviceId a, DeviceId b, const Link& link) {
  assert(a != b && link.bandwidth.count() > 0 && link.latency.count() >= 0 && link.lanes > 0);
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto number = static_cast<int>(graph_.edges().size());
    graph_.join(from, to, link);
    resources_.insert(resources_.begin() + number,
                      {fmt::format("{}->{}", graph_[from].name, graph_[to].name), link.kind,
                       link.bandwidth, link.latency, link.lanes});
  }
}

std::optional<DeviceId> NodeGraph::find(const std::string& device_name) const {
  for (const DeviceId id : graph_.vertices()) {
    if (graph_[id].name == device_name) return id;
  }
  return std::nullopt;
}

template <class Uses>
std::vector<int> NodeGraph::way(DeviceId from, DeviceId to, Uses uses) const {
  using Search = PathSearch<DeviceGraph>;
  const Search search(
      graph_, from, [&](const Search::Edge& edge) { return uses(graph_[edge].kind); },
      [&](DeviceId id) { return width(graph_[id]); }, to);
  std::vector<int> numbers;
  if (!search.reaches(to)) return numbers;
  for (const Search::Edge& edge : search.path(to)) {
    numbers.push_back(edge.number);
    const DeviceId at = edge.target;
    if (at != to && graph_[at].transit) numbers.push_back(transit_resource(at));
  }
  return numbers;
}

std::vector<int> NodeGraph::way_through_gpu(DeviceId from, DeviceId to) const {
  std::vector<int> best;
  if (graph_[from].kind != DeviceKind::gpu || graph_[to].kind != DeviceKind::gpu) return best;
  const auto leaves = [&](const auto& edge) { return is_nvlink(graph_[edge].kind); };
  if (std::ranges::none_of(graph_.out_edges(from), leaves)) return best;
  for (const DeviceId relay : gpus_) {
    if (relay == from || relay == to) continue;
    std::vector<int> through = way(from, relay, is_nvlink);
    const std::vector<int> onward = way(relay, to, is_nvlink);
    if (through.empty() || onward.empty()) continue;
    through.insert(through.end(), onward.begin(), onward.end());
    if (best.empty() || bottleneck(through) > bottleneck(best)) best = std::move(through);
  }
  return best;
}

std::vector<int> NodeGraph::route(DeviceId from, DeviceId to) const {
  if (from == to) return {};
  // NVLink first, whatever the latencies say: that is what peer-to-peer copies and NCCL take.
  std::vector<int> numbers = way(from, to, is_nvlink);
  if (numbers.empty()) numbers = way_through_gpu(from, to);
  if (!numbers.empty()) return numbers;
  numbers = way(from, to, [](LinkKind /*kind*/) { return true; });
  const auto ends = [&](DeviceId id) {
    return graph_[id].kind == DeviceKind::gpu || graph_[id].kind == DeviceKind::nic;
  };
  if (ends(from) && ends(to) && !reaches_directly(numbers)) {
    std::vector<int> staged = way_through_host(from, to);
    const bool are_gpus =
        graph_[from].kind == DeviceKind::gpu && graph_[to].kind == DeviceKind::gpu;
    if (!staged.empty()) return are_gpus ? with_lines_fetched(staged) : staged;
  }
  if (!numbers.empty()) return numbers;
  throw SimulationError(
      fmt::format("node '{}': no path from {} to {}", name, graph_[from].name, graph_[to].name));
}

std::optional<DeviceId> NodeGraph::host_memory_of(DeviceId device) const {
  using Search = PathSearch<DeviceGraph>;
  const Search search(
      graph_, device, [&](const Search::Edge& edge) { return is_not_nvlink(graph_[edge].kind); },
      [&](DeviceId id) { return width(graph_[id]); });
  for (const DeviceKind kind : {DeviceKind::numa, DeviceKind::host_bridge}) {
    std::optional<DeviceId> nearest;
    Seconds least;
    for (const DeviceId id : graph_.vertices()) {
      if (graph_[id].kind != kind || !search.reaches(id)) continue;
      Seconds distance;
      for (const Search::Edge& edge : search.path(id)) distance += graph_[edge].latency;
      if (nearest && distance >= least) continue;
      nearest = id;
      least = distance;
    }
    if (nearest) return nearest;
  }
  return std::nullopt;
}

bool NodeGraph::lets_peers_pass(DeviceKind passed) const {
  switch (peer_to_peer) {
    case PeerToPeer::none:
      return false;
    case PeerToPeer::pcie_switch:
      return passed != DeviceKind::host_bridge && passed != DeviceKind::numa;
    case PeerToPeer::host_bridge:
      return passed != DeviceKind::numa;
    default:
      return true;
  }
}

bool NodeGraph::are_peers(std::span<const DeviceId> gpus) const {
  if (peer_to_peer == PeerToPeer::socket) return true;
  for (const DeviceId from : gpus) {
    for (const DeviceId to : gpus) {
      if (from == to || !way(from, to, is_nvlink).empty()) continue;
      if (!reaches_directly(way(from, to, [](LinkKind /*kind*/) { return true; }))) return false;
    }
  }
  return true;
}

bool NodeGraph::reaches_directly(const std::vector<int>& way) const {
  if (peer_to_peer == PeerToPeer::socket) return true;
  // Numbers of transits come after those of links, and say nothing that the links do not.
  return std::ranges::none_of(graph_.edges(), [&](const auto& edge) {
    return std::ranges::find(way, edge.number) != way.end() &&
           !lets_peers_pass(graph_[edge.target].kind);
  });
}

std::vector<int> NodeGraph::route_through_host(DeviceId from, DeviceId to) const {
  if (from == to) return {};
  std::vector<int> staged = way_through_host(from, to);
  return staged.empty() ? route(from, to) : staged;
}

std::vector<int> NodeGraph::way_through_host(DeviceId from, DeviceId to) const {
  const auto memory = host_memory_of(graph_[from].kind == DeviceKind::gpu ? from : to);
  if (!memory) return {};
  std::vector<int> path = way(from, *memory, is_not_nvlink);
  const std::vector<int> onward = way(*memory, to, is_not_nvlink);
  if (path.empty() || onward.empty()) return {};
  // A host bridge stands for the memory behind it: once to it, once from it.
  if (graph_[*memory].transit) path.insert(path.end(), 2, transit_resource(*memory));
  path.insert(path.end(), onward.begin(), onward.end());
  return path;
}

std::vector<int> NodeGraph::with_lines_fetched(const std::vector<int>& way) const {
  std::vector<int> path;
  for (const int number : way) {
    path.push_back(number);
    const bool is_socket = resources_[static_cast<std::size_t>(number)].kind == LinkKind::smp &&
                           number < static_cast<int>(graph_.edges().size());
    // connect() numbers the two directions after each other.
    if (is_socket) path.push_back(number % 2 == 0 ? number + 1 : number - 1);
  }
  return path;
}

std::vector<int> NodeGraph::route_to_host(DeviceId device) const {
  const auto memory = host_memory_of(device);
  if (!memory) return {};
  std::vector<int> path = way(device, *memory, is_not_nvlink);
  if (graph_[*memory].transit) path.push_back(transit_resource(*memory));
  return path;
}

std::vector<int> NodeGraph::route_from_host(DeviceId device) const {
  const auto memory = host_memory_of(device);
  if (!memory) return {};
  std::vector<int> path = way(*memory, device, is_not_nvlink);
  if (graph_[*memory].transit) path.push_back(transit_resource(*memory));
  return path;
}

BytesPerSecond NodeGraph::host_copy_bandwidth(DeviceId gpu) const {
  if (const auto memory = host_memory_of(gpu)) return bottleneck(way(gpu, *memory, is_not_nvlink));
  BytesPerSecond widest;
  for (const auto& edge : graph_.out_edges(gpu)) {
    if (is_not_nvlink(graph_[edge].kind)) widest = std::max(widest, graph_[edge].bandwidth);
  }
  return widest;
}

int NodeGraph::transit_resource(DeviceId id) const {
  auto number = static_cast<int>(graph_.edges().size());
  for (DeviceId before = 0; before < id; ++before) number += graph_[before].transit ? 1 : 0;
  return number;
}

int NodeGraph::nvlink_lanes(DeviceId a, DeviceId b) const {
  const auto lanes_between = [&](DeviceId from, DeviceId to) {
    int lanes = 0;
    for (const auto& edge : graph_.out_edges(from)) {
      const bool counts = edge.target == to && graph_[edge].kind == LinkKind::nvlink;
      if (counts) lanes += graph_[edge].lanes;
    }
    return lanes;
  };
  int lanes = lanes_between(a, b);
  for (const DeviceId id : graph_.vertices()) {
    if (graph_[id].kind != DeviceKind::nvswitch) continue;
    lanes += std::min(lanes_between(a, id), lanes_between(b, id));
  }
  return lanes;
}

std::vector<DeviceId> NodeGraph::unreached(DeviceId from) const {
  using Search = PathSearch<DeviceGraph>;
  const Search search(
      graph_, from, [](const Search::Edge& /*edge*/) { return true; },
      [&](DeviceId id) { return width(graph_[id]); });
  std::vector<DeviceId> lost;
  for (const DeviceId id : graph_.vertices()) {
    const bool ends = graph_[id].kind == DeviceKind::gpu || graph_[id].kind == DeviceKind::nic;
    if (ends && !search.reaches(id)) lost.push_back(id);
  }
  return lost;
}

std::vector<int> NodeGraph::nics_by_distance(DeviceId gpu) const {
  constexpr double picoseconds = 1e12;  // sums of latencies in another order must tie
  std::vector<std::pair<long long, int>> order;
  for (const DeviceId nic : nics_) {
    order.emplace_back(std::llround(latency(route(gpu, nic)).count() * picoseconds),
                       graph_[nic].index);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> indices;
  indices.reserve(order.size());
  for (const auto& [distance, index] : order) indices.push_back(index);
  const auto nearest = std::count_if(order.begin(), order.end(), [&](const auto& one) {
    return one.first == order.front().first;
  });
  if (nearest > 1) {
    std::rotate(indices.begin(), indices.begin() + graph_[gpu].index % nearest,
                indices.begin() + nearest);
  }
  return indices;
}

BytesPerSecond NodeGraph::bottleneck(const std::vector<int>& route) const {
  assert(!route.empty());
  BytesPerSecond least = resources_[static_cast<std::size_t>(route.front())].bandwidth;
  for (const int id : route)
    least = std::min(least, resources_[static_cast<std::size_t>(id)].bandwidth);
  return least;
}

Seconds NodeGraph::latency(const std::vector<int>& route) const {
  Seconds sum;
  for (const int id : route) sum += resources_[static_cast<std::size_t>(id)].latency;
  return sum;
}

}  // namespace gradwire
