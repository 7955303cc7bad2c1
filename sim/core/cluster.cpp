#include "sim/core/cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <map>

#include "sim/core/index.hpp"
#include "sim/core/local_routes.hpp"

namespace gradwire {
namespace {

ClusterLink cluster_link(LinkKind kind, BytesPerSecond capacity, Seconds latency) {
  return {.capacity = capacity.count(), .latency = latency.count(), .kind = kind};
}

}  // namespace

Cluster::Cluster(std::vector<std::shared_ptr<const NodeGraph>> nodes, Fabric fabric)
    : nodes_(std::move(nodes)),
      fabric_(std::move(fabric)),
      links_(std::make_shared<std::vector<std::uint32_t>>()) {
  assert(!nodes_.empty());
  std::map<const NodeGraph*, std::shared_ptr<const Routes>> known;  // looked up, never walked
  int ports = 0;
  for (const auto& node : nodes_) {
    auto& routes = known[node.get()];
    if (!routes) routes = std::make_shared<const Routes>(*node);
    routes_.push_back(routes);
    node_offset_.push_back(port_links_);
    port_offset_.push_back(ports);
    port_links_ += static_cast<LinkId>(routes->links().size());
    ports += routes->nics();
  }
  auto& links = *links_;
  links.reserve(at(port_links_) + 2 * at(fabric_.port_count()) + fabric_.graph().edges().size());
  std::map<const Routes*, std::vector<std::uint32_t>> types;  // looked up, never walked
  for (const auto& routes : routes_) {
    const auto [found, is_new] = types.try_emplace(routes.get());
    if (is_new) {
      for (const ClusterLink& link : routes->links()) found->second.push_back(type_of(link));
    }
    links.insert(links.end(), found->second.begin(), found->second.end());
  }
  assert(fabric_.port_count() == ports || (nodes_.size() == 1 && fabric_.port_count() == 0));
  for (int port = 0; port < fabric_.port_count(); ++port) {
    const PortSpec& spec = fabric_.port_spec(port);
    ClusterLink direction =
        cluster_link(LinkKind::network, spec.bandwidth, spec.latency + spec.message_overhead);
    if (spec.connection_bandwidth) {
      direction.connection_capacity = spec.connection_bandwidth->count();
    }
    direction.connections = spec.connections;
    links.resize(links.size() + 2, type_of(direction));
  }
  trunk_links_ = static_cast<LinkId>(links.size());
  const auto& switches = fabric_.graph();
  for (const auto& edge : switches.edges()) {
    links.push_back(
        type_of(cluster_link(LinkKind::network, switches[edge].bandwidth, switches[edge].latency)));
  }
  duplex_links_ = static_cast<LinkId>(links.size());
  for (int port = 0; port < fabric_.port_count(); ++port) {
    const PortSpec& spec = fabric_.port_spec(port);
    assert(spec.duplex_efficiency >= 0.5 && spec.duplex_efficiency <= 1);
    if (spec.duplex_efficiency == 1) continue;
    half_duplex_ports_.push_back(port);
    links.push_back(type_of(
        cluster_link(LinkKind::network, 2 * spec.duplex_efficiency * spec.bandwidth, Seconds{})));
  }
}

std::uint32_t Cluster::type_of(const ClusterLink& link) {
  // They are few, and mostly that of the link before.
  const auto found = std::find(link_types_.rbegin(), link_types_.rend(), link);
  const auto type = static_cast<std::uint32_t>(link_types_.rend() - found);
  if (type > 0) return type - 1;
  link_types_.push_back(link);
  return static_cast<std::uint32_t>(link_types_.size() - 1);
}

const NodeGraph& Cluster::node(int index) const {
  return *nodes_[at(index)];
}

BytesPerSecond Cluster::host_copy_bandwidth(GpuRef gpu) const {
  return routes_[at(gpu.node)]->copy_rate(gpu.gpu);
}

std::optional<std::pair<int, int>> Cluster::separated() const {
  if (nodes_.size() < 2) return std::nullopt;
  // Thousands of machines hang on few sets of islands: one machine stands for each set.
  std::map<std::vector<int>, int> first_on;
  std::vector<int> islands;
  for (int node = 0; node < node_count(); ++node) {
    islands.clear();
    for (int nic = 0; nic < routes_[at(node)]->nics(); ++nic) {
      islands.push_back(fabric_.island_of(port_offset_[at(node)] + nic));
    }
    std::sort(islands.begin(), islands.end());
    islands.erase(std::unique(islands.begin(), islands.end()), islands.end());
    if (islands.empty()) return std::pair{node, node == 0 ? 1 : 0};
    first_on.try_emplace(islands, node);
  }
  std::optional<std::pair<int, int>> found;
  for (auto a = first_on.begin(); a != first_on.end(); ++a) {
    for (auto b = std::next(a); b != first_on.end(); ++b) {
      std::vector<int> common;
      std::set_intersection(a->first.begin(), a->first.end(), b->first.begin(), b->first.end(),
                            std::back_inserter(common));
      const std::pair<int, int> nodes = std::minmax(a->second, b->second);
      if (common.empty() && (!found || nodes < *found)) found = nodes;
    }
  }
  return found;
}

void Cluster::degrade(LinkId id, double factor) {
  assert(factor > 0);
  if (links_.use_count() > 1) links_ = std::make_shared<std::vector<std::uint32_t>>(*links_);
  std::uint32_t& type = (*links_)[at(id)];
  ClusterLink link = link_types_[type];
  link.capacity *= factor;
  type = type_of(link);
}

}  // namespace gradwire
