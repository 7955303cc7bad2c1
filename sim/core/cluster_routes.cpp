#include "sim/core/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "sim/core/index.hpp"
#include "sim/core/local_routes.hpp"
#include "sim/core/refusal.hpp"

namespace gradwire {
void Cluster::append_local(int node, int from_gpu, int to_gpu, std::vector<LinkId>& path) const {
  const Routes& routes = *routes_[at(node)];
  assert(from_gpu < routes.gpus() && to_gpu < routes.gpus());
  routes.append_gpu_to_gpu(from_gpu, to_gpu, /*staged=*/false, node_offset_[at(node)], path);
}

void Cluster::append_route(GpuRef from, GpuRef to, std::vector<LinkId>& path) const {
  if (from.node == to.node) return append_local(from.node, from.gpu, to.gpu, path);
  append_remote(from, routes_[at(from.node)]->nearest_nic(from.gpu), to,
                routes_[at(to.node)]->nearest_nic(to.gpu), path);
}

void Cluster::append_remote(GpuRef from, int nic_from, GpuRef to, int nic_to,
                            std::vector<LinkId>& path) const {
  append_between(from, nic_from, to, nic_to, /*staged=*/false, path);
}

void Cluster::append_through_host(GpuRef from, GpuRef to, int nic,
                                  std::vector<LinkId>& path) const {
  if (from.node != to.node) {
    const int nic_from = nic_or_last(from.node, nic);
    return append_between(from, nic_from, to, nic_or_last(to.node, nic), /*staged=*/true, path);
  }
  routes_[at(from.node)]->append_gpu_to_gpu(from.gpu, to.gpu, /*staged=*/true,
                                            node_offset_[at(from.node)], path);
}

void Cluster::append_to_host(GpuRef from, std::vector<LinkId>& path) const {
  routes_[at(from.node)]->append_gpu_to_host(from.gpu, node_offset_[at(from.node)], path);
}

void Cluster::append_from_host(GpuRef to, std::vector<LinkId>& path) const {
  routes_[at(to.node)]->append_host_to_gpu(to.gpu, node_offset_[at(to.node)], path);
}

void Cluster::append_between_hosts(int node_from, int node_to, int nic,
                                   std::vector<LinkId>& path) const {
  if (node_from == node_to) return;
  int nic_from = nic_or_last(node_from, nic);
  int nic_to = nic_or_last(node_to, nic);
  if (!fabric_.reaches(port_of(node_from, nic_from), port_of(node_to, nic_to))) {
    std::tie(nic_from, nic_to) = other_way(node_from, node_to, nic_to);
  }
  routes_[at(node_from)]->append_host_to_nic(nic_from, node_offset_[at(node_from)], path);
  append_fabric(port_of(node_from, nic_from), port_of(node_to, nic_to), path);
  routes_[at(node_to)]->append_nic_to_host(nic_to, node_offset_[at(node_to)], path);
}

void Cluster::append_between(GpuRef from, int nic_from, GpuRef to, int nic_to, bool staged,
                             std::vector<LinkId>& path) const {
  const Routes& out = *routes_[at(from.node)];
  const Routes& in = *routes_[at(to.node)];
  assert(nic_from < out.nics() && nic_to < in.nics() && from.node != to.node);
  if (!fabric_.reaches(port_of(from.node, nic_from), port_of(to.node, nic_to))) {
    std::tie(nic_from, nic_to) = other_way(from.node, to.node, nic_to);
    const int relay = out.nearest_gpu(nic_from);
    if (gpus_relay_ && out.nvlink(from.gpu, relay)) {
      append_local(from.node, from.gpu, relay, path);
      from.gpu = relay;
    }
  }
  const int port_from = port_of(from.node, nic_from);
  const int port_to = port_of(to.node, nic_to);
  const auto through_host = [&](int port) { return staged || !fabric_.port_spec(port).gpudirect; };
  out.append_gpu_to_nic(from.gpu, nic_from, through_host(port_from), node_offset_[at(from.node)],
                        path);
  append_fabric(port_from, port_to, path);
  in.append_nic_to_gpu(nic_to, to.gpu, through_host(port_to), node_offset_[at(to.node)], path);
}

void Cluster::append_fabric(int port_from, int port_to, std::vector<LinkId>& path) const {
  append_port(port_from, /*up=*/true, path);
  for (const int trunk : fabric_.route(port_from, port_to)) path.push_back(trunk_links_ + trunk);
  append_port(port_to, /*up=*/false, path);
}

void Cluster::append_port(int port, bool up, std::vector<LinkId>& path) const {
  path.push_back(port_links_ + 2 * port + (up ? 0 : 1));
  const auto shared = std::lower_bound(half_duplex_ports_.begin(), half_duplex_ports_.end(), port);
  if (shared == half_duplex_ports_.end() || *shared != port) return;
  path.push_back(duplex_links_ + static_cast<LinkId>(shared - half_duplex_ports_.begin()));
}

int Cluster::nic_or_last(int node, int nic) const {
  const int last = routes_[at(node)]->nics() - 1;
  if (last >= 0) return std::min(nic, last);
  throw UnsupportedConfiguration(
      UnsupportedConfiguration::Key::cluster,
      fmt::format("node{} has no NIC, but the job spans several machines", node));
}

std::pair<int, int> Cluster::other_way(int node_from, int node_to, int nic_to) const {
  const int nics_from = routes_[at(node_from)]->nics();
  const int nics_to = routes_[at(node_to)]->nics();
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
  throw UnsupportedConfiguration(
      UnsupportedConfiguration::Key::cluster,
      fmt::format("fabric: no NIC of node{} reaches node{}", node_from, node_to));
}

}  // namespace gradwire
