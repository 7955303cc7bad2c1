#include "sim/config/machine_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/link_yaml.hpp"
#include "sim/config/network_cards.hpp"
#include "sim/config/node_yaml.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

/// More machines than any cluster has; keeps a slip of the pen from filling the memory.
constexpr int nodes_max = 100'000;
constexpr int links_per_node_max = 64;

/// The kind that all of the node's own NICs name as their model.
PortSpec own_link(const YamlMap& map, const NodeGraph& node) {
  const auto model = [&](DeviceId nic) { return node.device(nic).model; };
  const auto& nics = node.nics();
  const PortKind* kind = nics.empty() ? nullptr : find_port_kind(model(nics.front()));
  const bool equal =
      std::ranges::all_of(nics, [&](DeviceId nic) { return model(nic) == model(nics.front()); });
  if (kind == nullptr || !equal) {
    map.fail("link",
             fmt::format("missing key 'link', and '{}' has {}; expected a link such as ib_edr",
                         node.name, nics.empty() ? "no NIC" : "no NICs of one known kind"));
  }
  return kind->port;
}

/// The mapping that has the key: the group before the fabric, the fabric when neither has it. Both
/// count as asked.
YamlMap& owner_of(const std::string& key, YamlMap& group, YamlMap& fabric) {
  static_cast<void>(fabric.find(key));
  return group.find(key) != nullptr ? group : fabric;
}

}  // namespace

MachineGroup MachineGroup::read(YamlMap& map) {
  const YamlValue& name = map.require_value("node", "a node type such as dgx1v");
  MachineGroup group;
  group.node = std::make_shared<const NodeGraph>(
      read_node(load_yaml(find_data(DataKind::node, name, "node"))));
  group.nodes = map.value_or("nodes", 1, between(1, nodes_max));
  const int gpus = static_cast<int>(group.node->gpus().size());
  group.gpus_per_node = map.value_or("gpus_per_node", gpus, between(1, gpus));
  if (const auto bandwidth =
          map.optional<BytesPerSecond>("socket_bandwidth", above(BytesPerSecond{}))) {
    auto changed = with_socket_bandwidth(*group.node, *bandwidth);
    if (!changed) {
      map.fail("socket_bandwidth",
               fmt::format("'socket_bandwidth' is given, but '{}' has no link between sockets; "
                           "expected a node with several sockets",
                           group.node->name));
    }
    group.node = std::make_shared<const NodeGraph>(std::move(*changed));
  }
  if (map.find("peer_to_peer") != nullptr) {
    NodeGraph changed = *group.node;
    changed.peer_to_peer = read_peer_to_peer(map);
    group.node = std::make_shared<const NodeGraph>(std::move(changed));
  }
  return group;
}

void MachineGroup::read_gpu(YamlMap& map) {
  const YamlValue* model = map.find("gpu");
  if (model == nullptr) return;
  const auto known = data_names(DataKind::gpu);
  const std::string name = map.require_choice("gpu", known);
  NodeGraph changed = *node;
  for (const DeviceId gpu : node->gpus()) changed.set_model(gpu, name);
  node = std::make_shared<const NodeGraph>(std::move(changed));
}

void MachineGroup::read_ports(YamlMap& group, YamlMap& fabric) {
  YamlMap& link_owner = owner_of("link", group, fabric);
  const YamlValue* link = link_owner.find("link");
  port = link != nullptr ? read_port(*link, "link") : own_link(fabric, *node);
  YamlMap& gpudirect_owner = owner_of("gpudirect", group, fabric);
  const bool gpudirect = gpudirect_owner.value_or("gpudirect", port->gpudirect);
  if (gpudirect && port->kind == "tcp") {
    gpudirect_owner.fail("gpudirect",
                         "'gpudirect' is true, but the kernel's TCP does not reach GPU memory; "
                         "expected false, or a link of another kind than tcp");
  }
  port->gpudirect = gpudirect;
  const int own = static_cast<int>(node->nics().size());
  YamlMap& links_owner = owner_of("links_per_node", group, fabric);
  const int links = links_owner.value_or("links_per_node", own, between(1, links_per_node_max));
  if (links == 0) {
    fabric.fail("links_per_node",
                fmt::format("'{}' has no NIC; expected 'links_per_node'", node->name));
  }
  if (links == own) {
    if (link == nullptr) return;
    NodeGraph renamed = *node;
    for (const DeviceId nic : node->nics()) renamed.set_model(nic, port->name);
    node = std::make_shared<const NodeGraph>(std::move(renamed));
    return;
  }
  auto changed = with_network_cards(*node, links, port->name);
  if (!changed) {
    links_owner.fail("links_per_node",
                     fmt::format("'{}' has no PCIe slot; expected a node with NICs or with GPUs on "
                                 "PCIe",
                                 node->name));
  }
  node = std::make_shared<const NodeGraph>(std::move(*changed));
}

PortGroup MachineGroup::ports() const {
  return {.machines = nodes, .nics = static_cast<int>(node->nics().size()), .port = port.value()};
}

}  // namespace gradwire::config
