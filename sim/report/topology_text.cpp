#include "sim/report/topology_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/report/fabric_fold.hpp"

namespace gradwire {
namespace {

/// Different switches of an irregular network that are listed.
constexpr std::size_t switch_groups_max = 24;

using Out = std::back_insert_iterator<std::string>;

double gigabytes(BytesPerSecond rate) {
  return rate.count() / 1e9;
}
double microseconds_text(Seconds time) {
  return time.count() * 1e6;
}

std::string wire_name(LinkKind kind, int lanes) {
  switch (kind) {
    case LinkKind::nvlink:
      return plain_format("NVLink x{}", lanes);
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::smp:
      return "SMP";
    case LinkKind::network:
      return "network";
  }
  return "";
}

void print_devices(const NodeGraph& node, Out out) {
  constexpr std::array<std::pair<DeviceKind, std::string_view>, 6> kinds = {{
      {DeviceKind::gpu, "GPUs"},
      {DeviceKind::nic, "NICs"},
      {DeviceKind::nvswitch, "NVSwitch"},
      {DeviceKind::pcie_switch, "PCIe switches"},
      {DeviceKind::host_bridge, "host bridges"},
      {DeviceKind::numa, "NUMA nodes"},
  }};
  plain_format_to(out, "  devices\n");
  for (const auto& [kind, title] : kinds) {
    std::string names;
    for (const DeviceId id : node.graph().vertices()) {
      const Device& device = node.device(id);
      if (device.kind != kind) continue;
      names += " " + device.name;
      if (kind == DeviceKind::nic) names += plain_format("=nic{}", device.index);
      if (!device.model.empty()) names += plain_format("({})", device.model);
      if (device.transit) names += plain_format("[{:.1f} GB/s]", gigabytes(*device.transit));
    }
    if (!names.empty()) plain_format_to(out, "    {:<14}{}\n", title, names);
  }
}

void print_links(const NodeGraph& node, Out out) {
  const DeviceGraph& graph = node.graph();
  plain_format_to(out, "  links                      kind        GB/s each way  latency us\n");
  for (const auto& edge : graph.edges()) {
    if (edge.number % 2 != 0) continue;  // the way back of the last
    const Link& link = graph[edge];
    plain_format_to(out, "    {:<10} <-> {:<10} {:<12} {:>11.2f} {:>11.2f}\n",
                    graph[edge.source].name, graph[edge.target].name,
                    wire_name(link.kind, link.lanes), gigabytes(link.bandwidth),
                    microseconds_text(link.latency));
  }
}

void print_nvlink_matrix(const NodeGraph& node, Out out) {
  const auto& gpus = node.gpus();
  const bool any = std::any_of(gpus.begin(), gpus.end(), [&](DeviceId a) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](DeviceId b) { return a != b && node.nvlink_lanes(a, b) > 0; });
  });
  if (!any) return;
  plain_format_to(out, "  NVLink lanes\n          ");
  for (const DeviceId gpu : gpus) plain_format_to(out, "{:>7}", node.device(gpu).name);
  plain_format_to(out, "\n");
  for (const DeviceId a : gpus) {
    plain_format_to(out, "    {:<6}", node.device(a).name);
    for (const DeviceId b : gpus) {
      const int lanes = a == b ? 0 : node.nvlink_lanes(a, b);
      plain_format_to(out, "{:>7}", a == b ? "X" : lanes == 0 ? "-" : fmt::to_string(lanes));
    }
    plain_format_to(out, "\n");
  }
}

void print_nearest_nics(const NodeGraph& node, Out out) {
  if (node.nics().empty()) return;
  plain_format_to(out, "  nearest NIC (to the GPU: GB/s, us)\n");
  for (const DeviceId gpu : node.gpus()) {
    const int index = node.nics_by_distance(gpu).front();
    const DeviceId nic = node.nics()[static_cast<std::size_t>(index)];
    const std::vector<int> way = node.route(nic, gpu);
    plain_format_to(out, "    {:<6} nic{} {:<8} {:>7.2f} {:>7.2f}\n", node.device(gpu).name, index,
                    node.device(nic).name, gigabytes(node.bottleneck(way)),
                    microseconds_text(node.latency(way)));
  }
}

/// "NVLink x2", "PCIe 5 + SMP": what a route crosses, in links of each kind.
std::string route_class(const NodeGraph& node, const std::vector<int>& route) {
  std::map<LinkKind, int> hops;
  int lanes = std::numeric_limits<int>::max();
  for (const int id : route) {
    const auto& resource = node.resources()[static_cast<std::size_t>(id)];
    if (resource.name.find("->") == std::string::npos) continue;  // a transit limit, not a link
    ++hops[resource.kind];
    if (resource.kind == LinkKind::nvlink) lanes = std::min(lanes, resource.lanes);
  }
  std::string text;
  for (const auto& [kind, count] : hops) {
    text += plain_format("{}{}", text.empty() ? "" : " + ", wire_name(kind, lanes));
    if (count > 1) text += plain_format(", {} hops", count);
  }
  return text;
}

/// "gpu0 > switch0 > gpu1"
std::string way_text(const NodeGraph& node, const std::vector<int>& route) {
  std::string text;
  for (const int id : route) {
    const std::string& name = node.resources()[static_cast<std::size_t>(id)].name;
    const std::size_t arrow = name.find("->");
    if (arrow == std::string::npos) continue;
    if (text.empty()) text = name.substr(0, arrow);
    text += " > " + name.substr(arrow + 2);
  }
  return text;
}

void print_routes(const NodeGraph& node, Out out) {
  struct Class {
    int pairs = 0;
    std::string example;
  };
  // -GB/s, latency in ns (whole: sums in another order must fall together), what it crosses
  using Key = std::tuple<double, long, std::string>;
  std::map<Key, Class> classes;
  for (const DeviceId from : node.gpus()) {
    for (const DeviceId to : node.gpus()) {
      if (from == to) continue;
      const std::vector<int> route = node.route(from, to);
      Class& entry =
          classes[{-gigabytes(node.bottleneck(route)),
                   std::lround(1e9 * node.latency(route).count()), route_class(node, route)}];
      if (entry.pairs++ == 0) entry.example = way_text(node, route);
    }
  }
  if (classes.empty()) return;
  plain_format_to(out, "  routes between GPUs         pairs     GB/s      us  for example\n");
  for (const auto& [key, entry] : classes) {
    const auto& [negative_rate, latency, crosses] = key;
    plain_format_to(out, "    {:<24} {:>6} {:>8.2f} {:>7.2f}  {}\n", crosses, entry.pairs,
                    -negative_rate, static_cast<double>(latency) / 1e3, entry.example);
  }
}

/// "16 trunks of 12.07 GB/s to spine0 ... spine15 x 16"
std::string trunks_text(const FoldedFabric& folded, std::size_t group) {
  std::string text;
  for (const auto& trunks : folded.groups[group].trunks) {
    text += plain_format("{}{} trunk{} of {:.2f} GB/s to {}", text.empty() ? "" : ", ",
                         trunks.count, trunks.count == 1 ? "" : "s", gigabytes(trunks.bandwidth),
                         trunks.to == group ? "others alike" : title(folded.groups[trunks.to]));
  }
  return text;
}

void print_switches(const Fabric& fabric, Out out) {
  const FoldedFabric folded = fold(fabric, 0);
  for (std::size_t g = 0; g < std::min(folded.groups.size(), switch_groups_max); ++g) {
    const SwitchGroup& group = folded.groups[g];
    std::string text;
    double below = 0;
    for (const auto& ports : group.ports) {
      const PortSpec& spec = fabric.port_specs()[ports.spec];
      text += plain_format("{}{} port{} of {}", text.empty() ? "" : ", ", ports.count,
                           ports.count == 1 ? "" : "s", spec.name);
      below += ports.count * gigabytes(spec.bandwidth);
    }
    double above = 0;
    for (const auto& trunks : group.trunks) above += trunks.count * gigabytes(trunks.bandwidth);
    if (below > 0 && above > 0) {
      text += plain_format(" ({:.4g} GB/s of ports to {:.4g} of trunks)", below, above);
    }
    const std::string trunks = trunks_text(folded, g);
    if (!trunks.empty()) text += plain_format("{}{}", text.empty() ? "" : "; ", trunks);
    plain_format_to(out, "  {}: {}\n", title(group), text);
  }
  if (folded.groups.size() > switch_groups_max) {
    plain_format_to(out, "  ... {} more groups of switches\n",
                    folded.groups.size() - switch_groups_max);
  }
}

/// The way from the first GPU of node 0 to that of another node.
void print_way(const Cluster& cluster, int node, Out out) {
  std::vector<LinkId> path;
  cluster.append_route({0, 0}, {node, 0}, path);
  double least = std::numeric_limits<double>::infinity();
  double latency = 0;
  std::string way;
  for (const LinkId id : path) {
    const ClusterLink& link = cluster.links()[static_cast<std::size_t>(id)];
    least = std::min(least, link.capacity);
    latency += link.latency;
    way += plain_format("{}{}", way.empty() ? "" : ", ", cluster.link_name(id));
  }
  plain_format_to(out, "  node0 to node{}: {:.2f} GB/s, {:.2f} us: {}\n", node, least / 1e9,
                  latency * 1e6, way);
}

void print_fabric(const Cluster& cluster, Out out) {
  const Fabric& fabric = cluster.fabric();
  if (fabric.port_count() == 0) return;
  const int switches = switch_count(fabric);
  plain_format_to(out, "fabric {}: {} switch{}, {} ports", fabric.kind, switches,
                  switches == 1 ? "" : "es", fabric.port_count());
  if (switches > 1 && !fabric.rule) {
    plain_format_to(
        out, ", {}",
        fabric.routing == Routing::spread
            ? "flows spread over equal-cost paths"
            : plain_format("one of equal-cost paths by hash (ecmp_seed {})", fabric.ecmp_seed));
  }
  plain_format_to(out, "\n");
  for (const PortSpec& port : fabric.port_specs()) {
    plain_format_to(out, "  {} ({}): {:.2f} GB/s each way, {:.3f} us a port\n", port.name,
                    port.kind, gigabytes(port.bandwidth),
                    microseconds_text(port.latency + port.message_overhead));
  }
  print_switches(fabric, out);
  if (cluster.node_count() < 2) return;
  print_way(cluster, 1, out);
  if (cluster.node_count() > 2) print_way(cluster, cluster.node_count() - 1, out);
}

}  // namespace

std::string topology_text(const Cluster& cluster) {
  std::map<const NodeGraph*, int> counts;
  for (int i = 0; i < cluster.node_count(); ++i) ++counts[&cluster.node(i)];
  std::string text;
  const Out out(text);
  for (int i = 0; i < cluster.node_count(); ++i) {
    const NodeGraph& node = cluster.node(i);
    const auto found = counts.find(&node);
    if (found == counts.end()) continue;  // printed with its first node
    plain_format_to(out, "node type {}: {} node{}, first node{}\n  source: {}\n", node.name,
                    found->second, found->second == 1 ? "" : "s", i, node.source);
    counts.erase(found);
    print_devices(node, out);
    print_links(node, out);
    print_nvlink_matrix(node, out);
    print_nearest_nics(node, out);
    print_routes(node, out);
  }
  print_fabric(cluster, out);
  return text;
}

}  // namespace gradwire
