#include "sim/config/cluster/node_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/cluster/node_likeness.hpp"
#include "sim/core/outgoing_text.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

constexpr std::string_view node_schema = "gradwire.node_topology/1";

/// The lists of the file, in its order: that is also the order of the devices and the links.
constexpr std::array<std::pair<std::string_view, DeviceKind>, 6> device_lists = {{
    {"numa", DeviceKind::numa},
    {"host_bridges", DeviceKind::host_bridge},
    {"pcie_switches", DeviceKind::pcie_switch},
    {"nvswitches", DeviceKind::nvswitch},
    {"gpus", DeviceKind::gpu},
    {"nics", DeviceKind::nic},
}};
constexpr std::array<std::pair<std::string_view, LinkKind>, 3> link_lists = {{
    {"pcie", LinkKind::pcie},
    {"cpu_links", LinkKind::smp},
    {"nvlinks", LinkKind::nvlink},
}};

/// In the order of PeerToPeer.
constexpr std::array<std::string_view, 4> peer_to_peer_names = {"none", "switch", "bridge",
                                                                "socket"};

std::string_view peer_to_peer_name(PeerToPeer how_far) {
  return peer_to_peer_names.at(static_cast<std::size_t>(how_far));
}

/// Where each device's name is written.
using Places = std::map<DeviceId, SourceLocation>;

/// Names that a model may have; none: any, as of a GPU that nobody described yet.
std::vector<std::string> models_of(DeviceKind kind) {
  if (kind == DeviceKind::nic) return shipped_links().port_names();
  if (kind == DeviceKind::numa) return shipped_links().socket_names();
  return {};
}

const Fields<HostMemory>& host_memory_fields() {
  static const Fields<HostMemory> fields = {
      "host_memory",
      "the memory of a machine's processors",
      {field("size", &HostMemory::size, "of all sockets", above(Bytes{0}), required),
       field("bandwidth", &HostMemory::bandwidth,
             "of all sockets, nominal: channels by their rate, reads and writes together",
             above(BytesPerSecond{}), required),
       field("source", &HostMemory::source, "where these are known from; free text", {},
             required)}};
  return fields;
}

const Fields<NodeGraph>& node_fields() {
  static const Fields<NodeGraph> fields = {
      "node_file",
      "the inside of a machine",
      {field("name", &NodeGraph::name, "of the type", {}, required),
       field("source", &NodeGraph::source, "where it is known from; free text", {}, required),
       inside("host_memory", &NodeGraph::host_memory, host_memory_fields,
              "for steps of the optimizer there"),
       field("ports_vary", &NodeGraph::ports_vary,
             "machines of this type are built with other numbers of ports, too: where no "
             "`links_per_node` is stated, a job's network is doubted")}};
  return fields;
}

const Fields<Device>& device_fields() {
  static const Fields<Device> fields = {
      "device",
      "a GPU, a port, a switch, a processor of a node file",
      {field("id", &Device::name, "its own within the file", {}, required),
       {{"model", "none", "of GPUs, ports and CPUs, by our names"},
        [](YamlMap& map, Device& device) {
          if (map.find("model") == nullptr) return;
          const std::vector<std::string> models = models_of(device.kind);
          device.model = models.empty() ? map.require<std::string>("model")
                                        : map.require_choice("model", models);
        }},
       field("numa", &Device::numa, "its NUMA node", at_least(0), "none"),
       field("transit", &Device::transit, "rate of all that passes it", above(BytesPerSecond{})),
       {clock_keys().front(),
        [](YamlMap& map, Device& device) {
          for (const KeyInfo& key : clock_keys()) {
            if (device.kind == DeviceKind::gpu || map.find(key.name) == nullptr) continue;
            map.fail(key.name,
                     fmt::format("'{}' is of GPUs; expected none on another device", key.name));
          }
          if (device.kind == DeviceKind::gpu) device.clock = read_clock(map, device.model);
        }},
       {clock_keys().back()}}};
  return fields;
}

/// The ends of a link, and what they have in common.
KeyInfo end_key(const char* name) {
  return {name, required, "the `id` of a device at one end"};
}
Field<Link> latency_field() {
  return field("latency", &Link::latency, "one way", between(Seconds{}, latency_most), required);
}

const Fields<Link>& wire_fields() {
  static const Fields<Link> fields = {
      "wire",
      "a link of PCIe or between processors, of a node file",
      {{end_key("a")},
       {end_key("b")},
       field("bandwidth", &Link::bandwidth, "of one direction", above(BytesPerSecond{}), required),
       latency_field()}};
  return fields;
}

const Fields<Link>& nvlink_fields() {
  static const Fields<Link> fields = {
      "nvlink",
      "NVLinks between two devices of a node file",
      {{end_key("a")},
       {end_key("b")},
       field("lanes", &Link::lanes, "how many", at_least(1), required),
       field("bandwidth_per_lane", &Link::bandwidth, "of one direction", above(BytesPerSecond{}),
             required),
       latency_field()}};
  return fields;
}

void read_device(YamlMap& map, DeviceKind kind, NodeGraph& node, Places& places) {
  Device device;
  device.kind = kind;
  device_fields().read_all(map, device);
  if (device.name.empty() || node.find(device.name)) {
    map.fail("id", fmt::format("device '{}' is not new; expected a name of its own", device.name));
  }
  const SourceLocation where = map.require_value("id", "a name").where;
  places[node.add(std::move(device))] = where;
}

DeviceId read_end(YamlMap& map, const std::string& key, const NodeGraph& node) {
  std::vector<std::string> known;
  for (const DeviceId id : node.graph().vertices()) {
    known.push_back(node.device(id).name);
  }
  const auto name = map.require_choice(key, known);
  return node.find(name).value();
}

/// A GB/s of all lanes, of both directions or of bits shows here. What joins a host bridge to its
/// NUMA node is no slot, and nobody publishes what processors carry between them.
void check_rate(const YamlMap& map, const std::string& key, const NodeGraph& node, DeviceId a,
                DeviceId b, const Link& link) {
  const auto is = [&](DeviceKind x, DeviceKind y) {
    return node.device(a).kind == x && node.device(b).kind == y;
  };
  const bool inner = is(DeviceKind::host_bridge, DeviceKind::numa) ||
                     is(DeviceKind::numa, DeviceKind::host_bridge);
  if (link.kind == LinkKind::smp || inner) return;
  const WireKind& fastest = shipped_links().fastest_wire(link.kind);
  const BytesPerSecond rate = (1.0 / link.lanes) * link.bandwidth;
  constexpr double rounding = 1 + 1e-9;  // of lanes times a lane's rate, and back
  if (rate.count() <= fastest.nominal->count() * rounding) return;
  map.fail(key,
           fmt::format("'{}' is {:.6g} GB/s, more than {} carries in one direction; expected at "
                       "most {:.6g} GB/s ({})",
                       key, rate.count() / 1e9,
                       link.kind == LinkKind::nvlink ? "one lane of any NVLink"
                                                     : "any PCIe slot of 16 lanes",
                       fastest.nominal->count() / 1e9, fastest.name));
}

/// Every GPU must have a way to every other GPU and NIC: collectives may take any of them.
void check_reach(const NodeGraph& node, const Places& places) {
  for (const DeviceId gpu : node.gpus()) {
    const std::vector<DeviceId> lost = node.unreached(gpu);
    if (lost.empty()) continue;
    const Device& device = node.device(lost.front());
    throw ConfigError(
        places.at(lost.front()),
        fmt::format("no path from '{}' to '{}'; expected links that join every GPU and NIC of the "
                    "node (nothing passes through a GPU or a NIC)",
                    node.device(gpu).name, device.name));
  }
}

void read_link(YamlMap& map, LinkKind kind, NodeGraph& node) {
  const DeviceId a = read_end(map, "a", node);
  const DeviceId b = read_end(map, "b", node);
  if (a == b) map.fail("b", "the link ends where it begins; expected another device");
  for (const auto& edge : node.graph().out_edges(a)) {
    if (edge.target != b || node.graph()[edge].kind != kind) continue;
    map.fail("b",
             fmt::format("'{}' and '{}' are joined twice; expected one link{}", node.device(a).name,
                         node.device(b).name, kind == LinkKind::nvlink ? " of as many lanes" : ""));
  }
  Link link;
  link.kind = kind;
  const bool nvlink = kind == LinkKind::nvlink;
  (nvlink ? nvlink_fields() : wire_fields()).read_all(map, link);
  link.bandwidth = static_cast<double>(link.lanes) * link.bandwidth;
  check_rate(map, nvlink ? "bandwidth_per_lane" : "bandwidth", node, a, b, link);
  node.connect(a, b, link);
}

/// A name as YAML: quoted where it could read as something else.
std::string name_text(const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view more = "0123456789_.-";
  const bool plain =
      !name.empty() && letters.find(name.front()) != std::string_view::npos && name != "null" &&
      std::ranges::all_of(name, [&](char c) {
        return letters.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
      });
  return plain ? name : yaml_quoted(name);
}

std::string yaml_rate(BytesPerSecond rate) {
  return fmt::format("{:.6g} GB/s", rate.count() / 1e9);
}

std::string device_text(const Device& device) {
  std::string text = fmt::format("  - {{id: {}", name_text(device.name));
  if (!device.model.empty()) text += fmt::format(", model: {}", name_text(device.model));
  if (device.numa >= 0) text += fmt::format(", numa: {}", device.numa);
  if (device.clock > Hertz{0}) text += fmt::format(", clock: {}", bound_text(device.clock));
  if (device.transit) text += fmt::format(", transit: {}", yaml_rate(*device.transit));
  return text + "}\n";
}

std::string link_text(const std::string& a, const std::string& b, const Link& link) {
  std::string text = fmt::format("  - {{a: {}, b: {}", name_text(a), name_text(b));
  if (link.kind == LinkKind::nvlink) {
    const BytesPerSecond lane = (1.0 / link.lanes) * link.bandwidth;
    text += fmt::format(", lanes: {}, bandwidth_per_lane: {}", link.lanes, yaml_rate(lane));
  } else {
    text += fmt::format(", bandwidth: {}", yaml_rate(link.bandwidth));
  }
  return text + fmt::format(", latency: {:.6g} us}}\n", link.latency.count() * 1e6);
}

}  // namespace

const Fields<NodeGraph>& peer_fields() {
  using enum PeerToPeer;
  static const Fields<NodeGraph> fields = {
      "peer_to_peer",
      "who reaches whose memory",
      {choice(
           "peer_to_peer", &NodeGraph::peer_to_peer,
           {{"none", none}, {"switch", pcie_switch}, {"bridge", host_bridge}, {"socket", socket}},
           "how far apart on PCIe devices reach each other's memory: `none` at all (GeForce RTX, "
           "or where the driver or `NCCL_P2P_DISABLE` forbids it), only a `switch`, one host "
           "`bridge`, another `socket` (`NCCL_P2P_LEVEL=SYS`); beyond, bytes go through host "
           "memory"),
       field("staged_bandwidth", &NodeGraph::staged_bandwidth,
             "what a GPU's kernels move through host memory each way at once: nccl-tests' bus "
             "bandwidth of two GPUs' all-reduce under `NCCL_P2P_DISABLE=1`. Hosts differ by a "
             "factor of four: a third of the GPU's link is assumed",
             above(BytesPerSecond{}), "a third of its link")}};
  return fields;
}

Section node_section() {
  Section section{"node_file", "the inside of a machine", node_fields().keys()};
  std::ranges::copy(peer_fields().keys(), std::back_inserter(section.keys));
  std::ranges::move(likeness_keys(), std::back_inserter(section.keys));
  for (const auto& [list, kind] : device_lists) {
    section.keys.push_back(
        {std::string(list), "none", "devices", list_of(mapping_of(device_fields))});
  }
  for (const auto& [list, kind] : link_lists) {
    section.keys.push_back(
        {std::string(list), "none", "links",
         list_of(mapping_of(kind == LinkKind::nvlink ? nvlink_fields : wire_fields))});
  }
  return section;
}

NodeGraph read_node(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(std::string(node_schema));
  const std::optional<NodeGraph> like = read_likeness(map);
  NodeGraph node = like.value_or(NodeGraph{});
  node_fields().read(map, node);
  peer_fields().read(map, node);
  if (like) {
    map.finish();
    return node;
  }
  Places places;
  for (const auto& [list, kind] : device_lists) {
    for (YamlMap& item : map.maps(std::string(list))) read_device(item, kind, node, places);
  }
  for (const auto& [list, kind] : link_lists) {
    for (YamlMap& item : map.maps(std::string(list))) read_link(item, kind, node);
  }
  map.finish();
  if (node.gpus().empty()) map.fail("gpus", "a node without GPUs; expected at least one");
  check_reach(node, places);
  return node;
}

std::string write_node(const NodeGraph& node, std::span<const std::string> assumptions) {
  std::string text = fmt::format("schema: {}\nname: {}\nsource: {}\n", node_schema,
                                 name_text(node.name), yaml_quoted(node.source));
  if (node.peer_to_peer != PeerToPeer::socket) {
    text += fmt::format("peer_to_peer: {}\n", peer_to_peer_name(node.peer_to_peer));
  }
  if (const auto& staged = node.staged_bandwidth) {
    text += fmt::format("staged_bandwidth: {}\n", yaml_rate(*staged));
  }
  if (const auto& memory = node.host_memory) {
    text += fmt::format("host_memory: {{size: {:.6g} GB, bandwidth: {}, source: {}}}\n",
                        static_cast<double>(memory->size.count()) / 1e9,
                        yaml_rate(memory->bandwidth), yaml_quoted(memory->source));
  }
  if (node.ports_vary) text += "ports_vary: true\n";
  for (const std::string& assumption : assumptions) text += plain_format("# {}\n", assumption);
  const DeviceGraph& graph = node.graph();
  for (const auto& [list, kind] : device_lists) {
    std::string items;
    for (const DeviceId id : graph.vertices()) {
      if (graph[id].kind == kind) items += device_text(graph[id]);
    }
    if (!items.empty()) text += fmt::format("{}:\n{}", list, items);
  }
  for (const auto& [list, kind] : link_lists) {
    std::string items;
    for (const auto& edge : graph.edges()) {
      // connect() adds both directions, one after the other: the first tells the pair.
      const bool first = edge.number % 2 == 0;
      if (!first || graph[edge].kind != kind) continue;
      items += link_text(graph[edge.source].name, graph[edge.target].name, graph[edge]);
    }
    if (!items.empty()) text += fmt::format("{}:\n{}", list, items);
  }
  return text;
}

}  // namespace gradwire::config
