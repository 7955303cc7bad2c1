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
#include <tuple>
#include <utility>

#include "sim/core/error.hpp"

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
  /// Path k is links[begin[k], begin[k + 1]): GPU to GPU, to NIC, from NIC, and the same three
  /// through host memory.
  std::vector<std::size_t> begin{0};
  /// Of GPUs, then of NICs: to the host memory and from there.
  std::vector<std::vector<int>> to_host;
  std::vector<std::vector<int>> from_host;
  std::vector<int> nearest_nic;           ///< of each GPU; empty when there is no NIC
  std::vector<int> nearest_gpu;           ///< of each NIC
  std::vector<bool> nvlink;               ///< [from * gpus + to]: joined directly
  std::vector<BytesPerSecond> copy_rate;  ///< of each GPU, to and from host memory

  explicit Routes(const NodeGraph& node)
      : gpus(static_cast<int>(node.gpus().size())), nics(static_cast<int>(node.nics().size())) {
    for (const auto& resource : node.resources()) {
      own.push_back(cluster_link(resource.kind, resource.bandwidth, resource.latency));
    }
    const auto append = [&](const auto& sources, const auto& destinations, const auto& route) {
      for (const DeviceId from : sources) {
        for (const DeviceId to : destinations) {
          const std::vector<int> path = route(from, to);
          links.insert(links.end(), path.begin(), path.end());
          begin.push_back(links.size());
        }
      }
    };
    const auto append_all = [&](const auto& route) {
      append(node.gpus(), node.gpus(), route);
      append(node.gpus(), node.nics(), route);
      append(node.nics(), node.gpus(), route);
    };
    append_all([&](DeviceId from, DeviceId to) { return node.route(from, to); });
    append_all([&](DeviceId from, DeviceId to) { return node.route_through_host(from, to); });
    for (const DeviceId gpu : node.gpus()) copy_rate.push_back(node.host_copy_bandwidth(gpu));
    for (const auto* devices : {&node.gpus(), &node.nics()}) {
      for (const DeviceId device : *devices) {
        to_host.push_back(node.route_to_host(device));
        from_host.push_back(node.route_from_host(device));
      }
    }
    if (nics == 0) return;
    for (const DeviceId gpu : node.gpus()) {
      nearest_nic.push_back(node.nics_by_distance(gpu).front());
      for (const DeviceId other : node.gpus()) {
        nvlink.push_back(gpu != other && node.nvlink_lanes(gpu, other) > 0);
      }
    }
    for (int nic = 0; nic < nics; ++nic) nearest_gpu.push_back(gpu_next_to(nic));
  }

  [[nodiscard]] int gpu_to_gpu(int from, int to) const { return from * gpus + to; }
  [[nodiscard]] int gpu_to_nic(int gpu, int nic) const { return gpus * gpus + gpu * nics + nic; }
  [[nodiscard]] int nic_to_gpu(int nic, int gpu) const {
    return gpus * gpus + gpus * nics + nic * gpus + gpu;
  }
  /// Added to a path's number: the same ends through host memory.
  [[nodiscard]] int through_host(bool staged) const {
    return staged ? gpus * gpus + 2 * gpus * nics : 0;
  }

  /// The GPU from which the path to the NIC takes least time; the first of them.
  [[nodiscard]] int gpu_next_to(int nic) const {
    const auto latency = [&](int gpu) {
      double sum = 0;
      const auto path = at(gpu_to_nic(gpu, nic));
      for (std::size_t i = begin[path]; i < begin[path + 1]; ++i) sum += own[at(links[i])].latency;
      return sum;
    };
    int nearest = 0;
    for (int gpu = 1; gpu < gpus; ++gpu) {
      if (latency(gpu) < latency(nearest)) nearest = gpu;
    }
    return nearest;
  }

  static void append(const std::vector<int>& path, LinkId offset, std::vector<LinkId>& out) {
    for (const int link : path) out.push_back(offset + link);
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
  for (int port = 0; port < fabric_.port_count(); ++port) {
    const PortSpec& spec = fabric_.port_spec(port);
    ClusterLink direction =
        cluster_link(LinkKind::network, spec.bandwidth, spec.latency + spec.message_overhead);
    if (spec.connection_bandwidth) {
      direction.connection_capacity = spec.connection_bandwidth->count();
    }
    direction.connections = spec.connections;
    links_.resize(links_.size() + 2, direction);
  }
  trunk_links_ = static_cast<LinkId>(links_.size());
  const auto& switches = fabric_.graph();
  for (const auto& edge : boost::make_iterator_range(boost::edges(switches))) {
    links_.push_back(
        cluster_link(LinkKind::network, switches[edge].bandwidth, switches[edge].latency));
  }
  duplex_links_ = static_cast<LinkId>(links_.size());
  for (int port = 0; port < fabric_.port_count(); ++port) {
    const PortSpec& spec = fabric_.port_spec(port);
    assert(spec.duplex_efficiency >= 0.5 && spec.duplex_efficiency <= 1);
    if (spec.duplex_efficiency == 1) continue;
    half_duplex_ports_.push_back(port);
    links_.push_back(
        cluster_link(LinkKind::network, 2 * spec.duplex_efficiency * spec.bandwidth, Seconds{}));
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
  if (id >= trunk_links_ && id < duplex_links_) {
    const auto& switches = fabric_.graph();
    return trunk_name(switches, *std::next(boost::edges(switches).first, id - trunk_links_));
  }
  const bool is_port = id >= port_links_;
  const bool is_shared = id >= duplex_links_;
  const int port = is_shared ? half_duplex_ports_[at(id - duplex_links_)]
                   : is_port ? (id - port_links_) / 2
                             : 0;
  const auto after = is_port ? std::upper_bound(port_offset_.begin(), port_offset_.end(), port)
                             : std::upper_bound(node_offset_.begin(), node_offset_.end(), id);
  const auto& offsets = is_port ? port_offset_ : node_offset_;
  const auto owner = static_cast<int>(after - offsets.begin()) - 1;
  if (is_port) {
    const char* direction = (id - port_links_) % 2 == 0 ? "up" : "down";
    return fmt::format("node{}.nic{}.{}", owner, port - port_offset_[at(owner)],
                       is_shared ? "both" : direction);
  }
  return fmt::format("node{}.{}", owner,
                     node(owner).resources()[at(id - node_offset_[at(owner)])].name);
}

void Cluster::append_local(int node, int from_gpu, int to_gpu, std::vector<LinkId>& path) const {
  const Routes& routes = *routes_[at(node)];
  assert(from_gpu < routes.gpus && to_gpu < routes.gpus);
  routes.append(routes.gpu_to_gpu(from_gpu, to_gpu), node_offset_[at(node)], path);
}

void Cluster::append_port(int port, bool up, std::vector<LinkId>& path) const {
  path.push_back(port_links_ + 2 * port + (up ? 0 : 1));
  const auto shared = std::lower_bound(half_duplex_ports_.begin(), half_duplex_ports_.end(), port);
  if (shared == half_duplex_ports_.end() || *shared != port) return;
  path.push_back(duplex_links_ + static_cast<LinkId>(shared - half_duplex_ports_.begin()));
}

void Cluster::append_remote(GpuRef from, int nic_from, GpuRef to, int nic_to,
                            std::vector<LinkId>& path) const {
  append_between(from, nic_from, to, nic_to, /*staged=*/false, path);
}

void Cluster::append_between(GpuRef from, int nic_from, GpuRef to, int nic_to, bool staged,
                             std::vector<LinkId>& path) const {
  const Routes& out = *routes_[at(from.node)];
  const Routes& in = *routes_[at(to.node)];
  assert(nic_from < out.nics && nic_to < in.nics && from.node != to.node);
  if (!fabric_.reaches(port_of(from.node, nic_from), port_of(to.node, nic_to))) {
    std::tie(nic_from, nic_to) = other_way(from.node, to.node, nic_to);
    const int relay = out.nearest_gpu[at(nic_from)];
    if (out.nvlink[at(from.gpu * out.gpus + relay)]) {
      append_local(from.node, from.gpu, relay, path);
      from.gpu = relay;
    }
  }
  const int port_from = port_of(from.node, nic_from);
  const int port_to = port_of(to.node, nic_to);
  const auto through_host = [&](const Routes& routes, int port) {
    return routes.through_host(staged || !fabric_.port_spec(port).gpudirect);
  };
  out.append(out.gpu_to_nic(from.gpu, nic_from) + through_host(out, port_from),
             node_offset_[at(from.node)], path);
  append_fabric(port_from, port_to, path);
  in.append(in.nic_to_gpu(nic_to, to.gpu) + through_host(in, port_to), node_offset_[at(to.node)],
            path);
}

void Cluster::append_fabric(int port_from, int port_to, std::vector<LinkId>& path) const {
  append_port(port_from, /*up=*/true, path);
  for (const int trunk : fabric_.route(port_from, port_to)) path.push_back(trunk_links_ + trunk);
  append_port(port_to, /*up=*/false, path);
}

int Cluster::nic_or_last(int node, int nic) const {
  const int last = routes_[at(node)]->nics - 1;
  if (last >= 0) return std::min(nic, last);
  throw SimulationError(fmt::format("node{} has no NIC, but the job spans several machines", node));
}

void Cluster::append_to_host(GpuRef from, std::vector<LinkId>& path) const {
  const Routes& routes = *routes_[at(from.node)];
  Routes::append(routes.to_host[at(from.gpu)], node_offset_[at(from.node)], path);
}

void Cluster::append_from_host(GpuRef to, std::vector<LinkId>& path) const {
  const Routes& routes = *routes_[at(to.node)];
  Routes::append(routes.from_host[at(to.gpu)], node_offset_[at(to.node)], path);
}

void Cluster::append_between_hosts(int node_from, int node_to, int nic,
                                   std::vector<LinkId>& path) const {
  if (node_from == node_to) return;
  int nic_from = nic_or_last(node_from, nic);
  int nic_to = nic_or_last(node_to, nic);
  if (!fabric_.reaches(port_of(node_from, nic_from), port_of(node_to, nic_to))) {
    std::tie(nic_from, nic_to) = other_way(node_from, node_to, nic_to);
  }
  const Routes& out = *routes_[at(node_from)];
  const Routes& in = *routes_[at(node_to)];
  Routes::append(out.from_host[at(out.gpus + nic_from)], node_offset_[at(node_from)], path);
  append_fabric(port_of(node_from, nic_from), port_of(node_to, nic_to), path);
  Routes::append(in.to_host[at(in.gpus + nic_to)], node_offset_[at(node_to)], path);
}

void Cluster::append_through_host(GpuRef from, GpuRef to, int nic,
                                  std::vector<LinkId>& path) const {
  if (from.node != to.node) {
    const int nic_from = nic_or_last(from.node, nic);
    return append_between(from, nic_from, to, nic_or_last(to.node, nic), /*staged=*/true, path);
  }
  const Routes& routes = *routes_[at(from.node)];
  routes.append(routes.gpu_to_gpu(from.gpu, to.gpu) + routes.through_host(true),
                node_offset_[at(from.node)], path);
}

BytesPerSecond Cluster::host_copy_bandwidth(GpuRef gpu) const {
  return routes_[at(gpu.node)]->copy_rate[at(gpu.gpu)];
}

std::pair<int, int> Cluster::other_way(int node_from, int node_to, int nic_to) const {
  const int nics_from = routes_[at(node_from)]->nics;
  const int nics_to = routes_[at(node_to)]->nics;
  for (int step = 0; step < nics_to; ++step) {
    const int in = (nic_to + step) % nics_to;
    const auto reaches = [&](int out) {
      return out < nics_from && fabric_.reaches(port_of(node_from, out), port_of(node_to, in));
    };
    if (reaches(in)) return {in, in};
    for (int out = 0; out < nics_from; ++out) {
      if (reaches(out)) return {out, in};
    }
  }
  throw SimulationError(fmt::format("fabric: no NIC of node{} reaches node{}", node_from, node_to));
}

std::optional<std::pair<int, int>> Cluster::separated() const {
  if (nodes_.size() < 2) return std::nullopt;
  // Thousands of machines hang on few sets of islands: one machine stands for each set.
  std::map<std::vector<int>, int> first_on;
  for (int node = 0; node < node_count(); ++node) {
    std::vector<int> islands;
    islands.reserve(static_cast<std::size_t>(routes_[at(node)]->nics));
    for (int nic = 0; nic < routes_[at(node)]->nics; ++nic) {
      islands.push_back(fabric_.island_of(port_offset_[at(node)] + nic));
    }
    std::sort(islands.begin(), islands.end());
    islands.erase(std::unique(islands.begin(), islands.end()), islands.end());
    if (islands.empty()) return std::pair{node, node == 0 ? 1 : 0};
    first_on.try_emplace(std::move(islands), node);
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
    std::vector<LinkId> all;
    append_port((up - port_links_) / 2, /*up=*/true, all);
    if ((rest.empty() || rest == ".both") && all.size() > 1) found.push_back(all.back());
  }
  return found;
}

Placement packed_placement(std::span<const int> gpus) {
  Placement placement;
  for (std::size_t node = 0; node < gpus.size(); ++node) {
    for (int gpu = 0; gpu < gpus[node]; ++gpu) placement.push_back({static_cast<int>(node), gpu});
  }
  return placement;
}

Placement round_robin_placement(std::span<const int> gpus) {
  Placement placement;
  const int most = gpus.empty() ? 0 : *std::max_element(gpus.begin(), gpus.end());
  for (int gpu = 0; gpu < most; ++gpu) {
    for (std::size_t node = 0; node < gpus.size(); ++node) {
      if (gpu < gpus[node]) placement.push_back({static_cast<int>(node), gpu});
    }
  }
  return placement;
}

Placement packed_placement(const Cluster& cluster, int gpus_per_node) {
  return packed_placement(std::vector<int>(at(cluster.node_count()), gpus_per_node));
}

Placement round_robin_placement(const Cluster& cluster, int gpus_per_node) {
  return round_robin_placement(std::vector<int>(at(cluster.node_count()), gpus_per_node));
}

}  // namespace gradwire
