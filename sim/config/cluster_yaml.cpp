#include "sim/config/cluster_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/data_files.hpp"
#include "sim/config/network_cards.hpp"
#include "sim/config/node_yaml.hpp"
#include "sim/config/topology_catalogue.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

/// More machines than any cluster has; keeps a slip of the pen from filling the memory.
constexpr int nodes_max = 100'000;
constexpr int links_per_node_max = 64;

/// `link`: a name, or {bandwidth, latency, kind}.
PortSpec read_link(YamlMap& fabric) {
  const YamlValue& value = fabric.require_value("link", "a kind of network link such as ib_edr");
  if (value.kind != YamlValue::Kind::map) {
    const PortKind* kind = find_port_kind(value.text);
    if (kind == nullptr) fail_choice(value, "link", port_kind_names());
    return kind->port;
  }
  static const std::vector<std::string> kinds = {"tcp", "roce", "ib"};
  YamlMap map(value, "link");
  PortSpec port;
  port.name = "user";
  port.bandwidth = map.require<BytesPerSecond>("bandwidth", above(BytesPerSecond{0}));
  port.latency = map.require<Seconds>("latency");
  port.kind = map.require_choice("kind", kinds);
  map.finish();
  return port;
}

/// The kind that all of the node's own NICs name as their model.
PortSpec own_link(const YamlMap& fabric, const NodeGraph& node) {
  const auto model = [&](DeviceId nic) { return node.device(nic).model; };
  const auto& nics = node.nics();
  const PortKind* kind = nics.empty() ? nullptr : find_port_kind(model(nics.front()));
  const bool equal =
      std::ranges::all_of(nics, [&](DeviceId nic) { return model(nic) == model(nics.front()); });
  if (kind == nullptr || !equal) {
    fabric.fail("link", fmt::format("missing key 'link', and the NICs of '{}' name no single kind "
                                    "of link; expected one such as ib_edr",
                                    node.name));
  }
  return kind->port;
}

Fabric read_fabric(YamlMap map, std::shared_ptr<const NodeGraph>& node, int nodes) {
  const auto& catalogue = fabric_catalogue();
  const std::string kind = map.require_choice("kind", names_of(catalogue));
  const PortSpec port = map.has("link") ? read_link(map) : own_link(map, *node);
  map.find("link");
  const int own = static_cast<int>(node->nics().size());
  const int links = map.value_or("links_per_node", own, between(1, links_per_node_max));
  if (links == 0) {
    map.fail("links_per_node",
             fmt::format("'{}' has no NIC; expected 'links_per_node'", node->name));
  }
  if (links != own) {
    auto changed = with_network_cards(*node, links, port.name);
    if (!changed) {
      map.fail("links_per_node", fmt::format("'{}' has no PCIe slot; expected a node with NICs or "
                                             "with GPUs on PCIe",
                                             node->name));
    }
    node = std::make_shared<const NodeGraph>(std::move(*changed));
  }
  Fabric fabric =
      std::ranges::find(catalogue, kind, &FabricEntry::name)->read(map, nodes * links, port);
  map.finish();
  return fabric;
}

/// "node1.gpu3"; nothing when the text is not like that.
std::optional<GpuRef> parse_gpu(std::string_view text) {
  const auto number = [&](std::string_view prefix) -> std::optional<int> {
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return value;
  };
  const auto node = number("node");
  const auto gpu = node ? number(".gpu") : std::nullopt;
  if (!gpu || !text.empty()) return std::nullopt;
  return GpuRef{*node, *gpu};
}

Placement read_explicit(const YamlValue& list, const Cluster& cluster) {
  Placement placement;
  for (const auto& item : list.items) {
    const auto place = parse_gpu(read_value<std::string>(item, "placement"));
    const bool there = place && place->node < cluster.node_count() &&
                       place->gpu < static_cast<int>(cluster.node(place->node).gpus().size());
    if (!there || std::ranges::find(placement, *place) != placement.end()) {
      throw ConfigError(item.where,
                        fmt::format("'placement' names '{}'{}; expected a GPU of the cluster such "
                                    "as node0.gpu0, each once",
                                    item.text, there ? " twice" : ", which is not there"));
    }
    placement.push_back(*place);
  }
  return placement;
}

}  // namespace

ClusterSpec read_cluster(YamlMap& scenario) {
  YamlMap map = scenario.require_map("cluster");
  for (const char* later : {"topology", "groups"}) map.refuse(later);
  const YamlValue& name = map.require_value("node", "a node type such as dgx1v");
  auto node = std::make_shared<const NodeGraph>(
      read_node(load_yaml(find_data(DataKind::node, name, "node"))));
  const int nodes = map.value_or("nodes", 1, between(1, nodes_max));
  const int gpus = static_cast<int>(node->gpus().size());
  ClusterSpec spec;
  spec.gpus_per_node = map.value_or("gpus_per_node", gpus, between(1, gpus));
  Fabric fabric;
  if (nodes > 1) map.require_value("fabric", "a mapping with 'kind' and 'link', for several nodes");
  if (auto written = map.optional_map("fabric")) fabric = read_fabric(*written, node, nodes);
  map.finish();
  spec.cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(nodes), node),
      std::move(fabric));
  return spec;
}

Placement read_placement(YamlMap& scenario, const ClusterSpec& spec) {
  static const std::vector<std::string> known = {"packed", "round_robin"};
  const YamlValue* value = scenario.find("placement");
  if (value == nullptr) return packed_placement(*spec.cluster, spec.gpus_per_node);
  if (value->kind == YamlValue::Kind::list && !value->items.empty()) {
    return read_explicit(*value, *spec.cluster);
  }
  return scenario.require_choice("placement", known) == "packed"
             ? packed_placement(*spec.cluster, spec.gpus_per_node)
             : round_robin_placement(*spec.cluster, spec.gpus_per_node);
}

}  // namespace gradwire::config
