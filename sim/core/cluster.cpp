#include "sim/core/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace gradwire {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

ClusterLink cluster_link(LinkKind kind, BytesPerSecond capacity, Seconds latency) {
  return {.capacity = capacity.count(), .latency = latency.count(), .kind = kind};
}

std::string trunk_name(const Fabric::SwitchGraph& switches,
                       const Fabric::SwitchGraph::edge_descriptor& edge) {
  return fmt::format("{}->{}", switches[boost::source(edge, switches)].name,
                     switches[boost::target(edge, switches)].name);
}

/// Index k of "<prefix>k", with what follows cut off `text`; empty when it reads otherwise.
std::optional<int> take_index(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int index = 0;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), index);
  if (error != std::errc{} || index < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return index;
}

}  // namespace

/// Of one node type: its links, and the paths GPU -> GPU, GPU -> NIC and NIC -> GPU end to end.
struct Cluster::Routes {
  int gpus = 0;
  int nics = 0;
  std::vector<ClusterLink> own;
  std::vector<LinkId> links;
  std::vector<std::size_t> begin{0};  ///< path k is links[begin[k], begin[k + 1])
  std::vector<int> nearest_nic;       ///< of each GPU; empty when there is no NIC

  explicit Routes(const NodeGraph& node)
      : gpus(static_cast<int>(node.gpus().size())), nics(static_cast<int>(node.nics().size())) {
    for (const auto& resource : node.resources()) {
      own.push_back(cluster_link(resource.kind, resource.bandwidth, resource.latency));
    }
    const auto append = [&](const auto& sources, const auto& destinations) {
      for (const DeviceId from : sources) {
        for (const DeviceId to : destinations) {
          const std::vector<int> path = node.route(from, to);
          links.insert(links.end(), path.begin(), path.end());
          begin.push_back(links.size());
        }
      }
    };
    append(node.gpus(), node.gpus());
    append(node.gpus(), node.nics());
    append(node.nics(), node.gpus());
    if (nics == 0) return;
    for (const DeviceId gpu : node.gpus()) {
      nearest_nic.push_back(node.nics_by_distance(gpu).front());
    }
  }

  [[nodiscard]] int gpu_to_gpu(int from, int to) const { return from * gpus + to; }
  [[nodiscard]] int gpu_to_nic(int gpu, int nic) const { return gpus * gpus + gpu * nics + nic; }
  [[nodiscard]] int nic_to_gpu(int nic, int gpu) const {
    return gpus * gpus + gpus * nics + nic * gpus + gpu;
  }

  void append(int path, LinkId offset, std::vector<LinkId>& out) const {
    for (std::size_t i = begin[at(path)]; i < begin[at(path) + 1]; ++i) {
      out.push_back(offset + links[i]);
    }
  }
};

Cluster::Cluster(std::vector<std::shared_ptr<const NodeGraph>> nodes, Fabric fabric)
    : nodes_(std::move(nodes)), fabric_(std::move(fabric)) {
  assert(!nodes_.empty());
  std::map<const NodeGraph*, std::shared_ptr<const Routes>> known;  // looked up, never walked
  int ports = 0;
  for (const auto& node : nodes_) {
    auto& routes = known[node.get()];
    if (!routes) routes = std::make_shared<const Routes>(*node);
    routes_.push_back(routes);
    node_offset_.push_back(port_links_);
    port_offset_.push_back(ports);
    port_links_ += static_cast<LinkId>(routes->own.size());
    ports += routes->nics;
  }
  links_.reserve(at(port_links_) + 2 * at(fabric_.port_count()) +
                 boost::num_edges(fabric_.graph()));
  for (const auto& routes : routes_) {
    links_.insert(links_.end(), routes->own.begin(), routes->own.end());
  }
  assert(fabric_.port_count() == ports || (nodes_.size() == 1 && fabric_.port_count() == 0));
  const PortSpec& port = fabric_.port;
  links_.resize(links_.size() + 2 * at(fabric_.port_count()),
                cluster_link(LinkKind::network, port.bandwidth, port.latency));
  trunk_links_ = static_cast<LinkId>(links_.size());
  const auto& switches = fabric_.graph();
  for (const auto& edge : boost::make_iterator_range(boost::edges(switches))) {
    links_.push_back(
        cluster_link(LinkKind::network, switches[edge].bandwidth, switches[edge].latency));
  }
}

const NodeGraph& Cluster::node(int index) const {
  return *nodes_[at(index)];
}

const std::shared_ptr<const NodeGraph>& Cluster::node_type(int index) const {
  return nodes_[at(index)];
}

std::string Cluster::link_name(LinkId id) const {
  assert(id >= 0 && at(id) < links_.size());
  if (id >= trunk_links_) {
    const auto& switches = fabric_.graph();
    return trunk_name(switches, *std::next(boost::edges(switches).first, id - trunk_links_));
  }
  const bool is_port = id >= port_links_;
  const int port = is_port ? (id - port_links_) / 2 : 0;
  const auto after = is_port ? std::upper_bound(port_offset_.begin(), port_offset_.end(), port)
                             : std::upper_bound(node_offset_.begin(), node_offset_.end(), id);
  const auto& offsets = is_port ? port_offset_ : node_offset_;
  const auto owner = static_cast<int>(after - offsets.begin()) - 1;
  if (is_port) {
    const bool up = (id - port_links_) % 2 == 0;
    return fmt::format("node{}.nic{}.{}", owner, port - port_offset_[at(owner)],
                       up ? "up" : "down");
  }
  return fmt::format("node{}.{}", owner,
                     node(owner).resources()[at(id - node_offset_[at(owner)])].name);
}

void Cluster::append_local(int node, int from_gpu, int to_gpu, std::vector<LinkId>& path) const {
  const Routes& routes = *routes_[at(node)];
  assert(from_gpu < routes.gpus && to_gpu < routes.gpus);
  routes.append(routes.gpu_to_gpu(from_gpu, to_gpu), node_offset_[at(node)], path);
}

void Cluster::append_remote(GpuRef from, int nic_from, GpuRef to, int nic_to,
                            std::vector<LinkId>& path) const {
  const Routes& out = *routes_[at(from.node)];
  const Routes& in = *routes_[at(to.node)];
  assert(nic_from < out.nics && nic_to < in.nics && from.node != to.node);
  const int port_from = port_offset_[at(from.node)] + nic_from;
  const int port_to = port_offset_[at(to.node)] + nic_to;
  out.append(out.gpu_to_nic(from.gpu, nic_from), node_offset_[at(from.node)], path);
  path.push_back(port_links_ + 2 * port_from);
  for (const int trunk : fabric_.trunks(fabric_.switch_of(port_from), fabric_.switch_of(port_to))) {
    path.push_back(trunk_links_ + trunk);
  }
  path.push_back(port_links_ + 2 * port_to + 1);
  in.append(in.nic_to_gpu(nic_to, to.gpu), node_offset_[at(to.node)], path);
}

void Cluster::append_route(GpuRef from, GpuRef to, std::vector<LinkId>& path) const {
  if (from.node == to.node) return append_local(from.node, from.gpu, to.gpu, path);
  append_remote(from, routes_[at(from.node)]->nearest_nic[at(from.gpu)], to,
                routes_[at(to.node)]->nearest_nic[at(to.gpu)], path);
}

void Cluster::degrade(LinkId id, double factor) {
  assert(factor > 0);
  links_[at(id)].capacity *= factor;
}

std::vector<LinkId> Cluster::find_links(const std::string& name) const {
  std::vector<LinkId> found;
  std::string_view rest = name;
  const std::optional<int> owner = take_index("node", rest);
  if (!owner || !rest.starts_with('.')) {
    const auto& switches = fabric_.graph();
    for (const auto& edge : boost::make_iterator_range(boost::edges(switches))) {
      if (trunk_name(switches, edge) != name) continue;
      found.push_back(trunk_links_ + boost::get(boost::edge_index, switches, edge));
    }
    return found;
  }
  if (*owner >= node_count()) return found;
  rest.remove_prefix(1);
  const auto& resources = node(*owner).resources();
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].name == rest) {
      found.push_back(node_offset_[at(*owner)] + static_cast<LinkId>(i));
    }
  }
  if (const std::optional<int> nic = take_index("nic", rest);
      nic && *nic < routes_[at(*owner)]->nics && fabric_.port_count() > 0) {
    const LinkId up = port_links_ + 2 * (port_offset_[at(*owner)] + *nic);
    if (rest.empty() || rest == ".up") found.push_back(up);
    if (rest.empty() || rest == ".down") found.push_back(up + 1);
  }
  return found;
}

Placement packed_placement(const Cluster& cluster, int gpus_per_node) {
  Placement placement;
  for (int node = 0; node < cluster.node_count(); ++node) {
    for (int gpu = 0; gpu < gpus_per_node; ++gpu) placement.push_back({node, gpu});
  }
  return placement;
}

Placement round_robin_placement(const Cluster& cluster, int gpus_per_node) {
  Placement placement;
  for (int gpu = 0; gpu < gpus_per_node; ++gpu) {
    for (int node = 0; node < cluster.node_count(); ++node) placement.push_back({node, gpu});
  }
  return placement;
}

}  // namespace gradwire
