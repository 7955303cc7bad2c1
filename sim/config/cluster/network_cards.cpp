#include "sim/config/cluster/network_cards.hpp"

#include <cassert>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace gradwire::config {
namespace {

/// Where a card can sit: what it is connected to, and how.
struct Slot {
  int numa = -1;
  std::vector<std::pair<std::string, Link>> links;
};

std::vector<Slot> slots_of(const NodeGraph& node) {
  const DeviceGraph& graph = node.graph();
  std::vector<Slot> slots;
  for (const DeviceId card : node.nics().empty() ? node.gpus() : node.nics()) {
    Slot slot{graph[card].numa, {}};
    for (const auto& edge : graph.out_edges(card)) {
      const bool usable = !node.nics().empty() || graph[edge].kind == LinkKind::pcie;
      if (usable) slot.links.emplace_back(graph[edge.target].name, graph[edge]);
    }
    if (!slot.links.empty()) slots.push_back(std::move(slot));
  }
  return slots;
}

/// The devices that `keeps` takes, with the links between them as `changed` gives them.
NodeGraph rebuilt(const NodeGraph& node, const std::function<bool(const Device&)>& keeps,
                  const std::function<Link(Link)>& changed) {
  const DeviceGraph& graph = node.graph();
  NodeGraph rest;
  rest.name = node.name;
  rest.source = node.source;
  rest.peer_to_peer = node.peer_to_peer;
  rest.staged_bandwidth = node.staged_bandwidth;
  rest.host_memory = node.host_memory;
  for (const DeviceId id : graph.vertices()) {
    if (keeps(graph[id])) rest.add(graph[id]);
  }
  for (const auto& edge : graph.edges()) {
    const DeviceId a = edge.source;
    const DeviceId b = edge.target;
    // connect() makes both directions: one of each pair is enough.
    if (a > b || !keeps(graph[a]) || !keeps(graph[b])) continue;
    rest.connect(rest.find(graph[a].name).value(), rest.find(graph[b].name).value(),
                 changed(graph[edge]));
  }
  return rest;
}

}  // namespace

std::optional<NodeGraph> with_network_cards(const NodeGraph& node, int count,
                                            const std::string& model, int gpus) {
  assert(count >= 1 && gpus >= 1 && static_cast<std::size_t>(gpus) <= node.gpus().size());
  std::vector<Slot> slots = slots_of(node);
  if (slots.empty()) return std::nullopt;
  if (slots.size() == node.gpus().size() && count >= gpus) {
    slots.resize(static_cast<std::size_t>(gpus));
  }
  NodeGraph result = rebuilt(
      node, [](const Device& device) { return device.kind != DeviceKind::nic; },
      [](const Link& link) { return link; });
  const auto cards = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < cards; ++i) {
    const Slot& slot = slots[i * slots.size() / cards];
    Device card;
    card.kind = DeviceKind::nic;
    card.model = model;
    card.numa = slot.numa;
    const DeviceId id = result.add(std::move(card));
    for (const auto& [end, link] : slot.links) result.connect(id, result.find(end).value(), link);
  }
  return result;
}

std::optional<NodeGraph> with_socket_bandwidth(const NodeGraph& node, BytesPerSecond bandwidth) {
  assert(bandwidth.count() > 0);
  bool found = false;
  NodeGraph result = rebuilt(
      node, [](const Device& /*device*/) { return true; },
      [&](Link link) {
        if (link.kind == LinkKind::smp) {
          found = true;
          link.bandwidth = bandwidth;
        }
        return link;
      });
  if (!found) return std::nullopt;
  return result;
}

}  // namespace gradwire::config
