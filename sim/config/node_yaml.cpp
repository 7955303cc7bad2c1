#include "sim/config/node_yaml.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr std::string_view schema = "gradwire.node_topology/1";

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

void read_device(YamlMap& map, DeviceKind kind, NodeGraph& node) {
  Device device;
  device.kind = kind;
  device.name = map.require<std::string>("id");
  if (device.name.empty() || node.find(device.name)) {
    map.fail("id", fmt::format("device '{}' is not new; expected a name of its own", device.name));
  }
  device.model = map.value_or<std::string>("model", "");
  device.numa = map.value_or<int>("numa", -1, at_least(0));
  device.transit = map.optional<BytesPerSecond>("transit", above(BytesPerSecond{}));
  map.finish();
  node.add(std::move(device));
}

DeviceId read_end(YamlMap& map, const std::string& key, const NodeGraph& node) {
  std::vector<std::string> known;
  for (const DeviceId id : boost::make_iterator_range(boost::vertices(node.graph()))) {
    known.push_back(node.device(id).name);
  }
  const auto name = map.require_choice(key, known);
  return node.find(name).value();
}

void read_link(YamlMap& map, LinkKind kind, NodeGraph& node) {
  const DeviceId a = read_end(map, "a", node);
  const DeviceId b = read_end(map, "b", node);
  if (a == b) map.fail("b", "the link ends where it begins; expected another device");
  Link link;
  link.kind = kind;
  const auto positive = above(BytesPerSecond{});
  if (kind == LinkKind::nvlink) {
    link.lanes = map.require<int>("lanes", at_least(1));
    link.bandwidth = static_cast<double>(link.lanes) *
                     map.require<BytesPerSecond>("bandwidth_per_lane", positive);
  } else {
    link.bandwidth = map.require<BytesPerSecond>("bandwidth", positive);
  }
  link.latency = map.require<Seconds>("latency");
  map.finish();
  node.connect(a, b, link);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{:.6g} GB/s", rate.count() / 1e9);
}

std::string device_text(const Device& device) {
  std::string text = fmt::format("  - {{id: {}", device.name);
  if (!device.model.empty()) text += fmt::format(", model: {}", device.model);
  if (device.numa >= 0) text += fmt::format(", numa: {}", device.numa);
  if (device.transit) text += fmt::format(", transit: {}", rate_text(*device.transit));
  return text + "}\n";
}

std::string link_text(const std::string& a, const std::string& b, const Link& link) {
  std::string text = fmt::format("  - {{a: {}, b: {}", a, b);
  if (link.kind == LinkKind::nvlink) {
    const BytesPerSecond lane = (1.0 / link.lanes) * link.bandwidth;
    text += fmt::format(", lanes: {}, bandwidth_per_lane: {}", link.lanes, rate_text(lane));
  } else {
    text += fmt::format(", bandwidth: {}", rate_text(link.bandwidth));
  }
  return text + fmt::format(", latency: {:.6g} us}}\n", link.latency.count() * 1e6);
}

}  // namespace

NodeGraph read_node(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(std::string(schema));
  NodeGraph node;
  node.name = map.require<std::string>("name");
  node.source = map.require<std::string>("source");
  for (const auto& [list, kind] : device_lists) {
    for (YamlMap& item : map.maps(std::string(list))) read_device(item, kind, node);
  }
  for (const auto& [list, kind] : link_lists) {
    for (YamlMap& item : map.maps(std::string(list))) read_link(item, kind, node);
  }
  map.finish();
  if (node.gpus().empty()) map.fail("gpus", "a node without GPUs; expected at least one");
  return node;
}

std::string write_node(const NodeGraph& node, std::span<const std::string> assumptions) {
  std::string text =
      fmt::format("schema: {}\nname: {}\nsource: {}\n", schema, node.name, quoted(node.source));
  for (const std::string& assumption : assumptions) text += fmt::format("# {}\n", assumption);
  const DeviceGraph& graph = node.graph();
  for (const auto& [list, kind] : device_lists) {
    std::string items;
    for (const DeviceId id : boost::make_iterator_range(boost::vertices(graph))) {
      if (graph[id].kind == kind) items += device_text(graph[id]);
    }
    if (!items.empty()) text += fmt::format("{}:\n{}", list, items);
  }
  for (const auto& [list, kind] : link_lists) {
    std::string items;
    for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
      // connect() adds both directions, one after the other: the first tells the pair.
      const bool first = boost::get(boost::edge_index, graph, edge) % 2 == 0;
      if (!first || graph[edge].kind != kind) continue;
      items += link_text(graph[boost::source(edge, graph)].name,
                         graph[boost::target(edge, graph)].name, graph[edge]);
    }
    if (!items.empty()) text += fmt::format("{}:\n{}", list, items);
  }
  return text;
}

}  // namespace gradwire::config
