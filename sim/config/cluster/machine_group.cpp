#include "sim/config/cluster/machine_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/cluster/network_cards.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

/// More machines than any cluster has; keeps a slip of the pen from filling the memory, as does the
/// most of GPUs (cluster_yaml.cpp).
constexpr int nodes_max = 1'000'000;
constexpr int links_per_node_max = 64;

/// The kind that all of the node's own NICs name as their model.
PortSpec own_link(const YamlMap& map, const NodeGraph& node) {
  const auto model = [&](DeviceId nic) { return node.device(nic).model; };
  const auto& nics = node.nics();
  const PortKind* kind = nics.empty() ? nullptr : shipped_links().find_port(model(nics.front()));
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

/// Puts a changed copy of the node in its place; others may share it.
void change(MachineGroup& group, const std::function<void(NodeGraph&)>& how) {
  NodeGraph changed = *group.node;
  how(changed);
  group.node = std::make_shared<const NodeGraph>(std::move(changed));
}

void read_node_type(YamlMap& map, MachineGroup& group) {
  const YamlValue& name = map.require_value("node", "a node type such as dgx1v");
  group.node = std::make_shared<const NodeGraph>(
      read_node(loaded_yaml(find_data(DataKind::node, name, "node"))));
}

void read_gpus_per_node(YamlMap& map, MachineGroup& group) {
  const int gpus = static_cast<int>(group.node->gpus().size());
  group.gpus_per_node = map.value_or("gpus_per_node", gpus, between(1, gpus));
}

void read_socket_bandwidth(YamlMap& map, MachineGroup& group) {
  const auto bandwidth = map.optional<BytesPerSecond>("socket_bandwidth", above(BytesPerSecond{}));
  if (!bandwidth) return;
  auto changed = with_socket_bandwidth(*group.node, *bandwidth);
  if (!changed) {
    map.fail("socket_bandwidth",
             fmt::format("'socket_bandwidth' is given, but '{}' has no link between sockets; "
                         "expected a node with several sockets",
                         group.node->name));
  }
  group.node = std::make_shared<const NodeGraph>(std::move(*changed));
}

/// In place of the type's own.
Field<MachineGroup> peer_field(std::size_t number) {
  KeyInfo key = peer_fields().keys().at(number);
  key.fallback = "the machine's";
  return {key, [name = key.name](YamlMap& map, MachineGroup& group) {
            if (map.find(name) == nullptr) return;
            change(group, [&](NodeGraph& node) { peer_fields().read(map, node); });
          }};
}

void read_gpu_type(YamlMap& map, MachineGroup& group) {
  if (map.find("gpu") == nullptr) return;
  const std::string name = require_data(map, "gpu", DataKind::gpu);
  change(group, [&](NodeGraph& node) {
    for (const DeviceId gpu : group.node->gpus()) node.set_model(gpu, name);
  });
}

void read_clock_of_all(YamlMap& map, MachineGroup& group) {
  if (map.find("clock") == nullptr && map.find("power_limit") == nullptr) return;
  change(group, [&](NodeGraph& node) {
    for (const DeviceId gpu : group.node->gpus()) {
      node.set_clock(gpu, read_clock(map, node.device(gpu).model));
    }
  });
}

}  // namespace

const Fields<MachineGroup>& machine_fields() {
  static const Fields<MachineGroup> fields = {
      "groups",
      "machines of one type",
      {{{"node", required, "machine: `gradwire list nodes`, or a node file"}, read_node_type},
       field("nodes", &MachineGroup::nodes, "how many", between(1, nodes_max)),
       {{"gpus_per_node", "all", "the first so many of each are used", value_info(at_least(1))},
        read_gpus_per_node},
       {{"socket_bandwidth", "the machine's",
         "of one direction between sockets; for machines of several",
         value_info(above(BytesPerSecond{}))},
        read_socket_bandwidth},
       peer_field(0),
       peer_field(1),
       {{"gpu", "the machine's", "another type in all its slots: `gradwire list gpus`"},
        read_gpu_type},
       {clock_keys().front(), read_clock_of_all},
       {clock_keys().back()}}};
  return fields;
}

std::vector<KeyInfo> port_keys() {
  return {{"link", "the machine's own ports", "`gradwire list links`, or a link that you describe",
           either(value_info<std::string>(), mapping_of(link_fields))},
          {"gpudirect", "true but for TCP", "the port reads and writes GPU memory; never with TCP",
           value_info<bool>()},
          {"links_per_node", "as many as it has", "ports of a machine",
           value_info(between(1, links_per_node_max))}};
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
    const bool stated = links_owner.has("links_per_node");
    if (link == nullptr && !stated) return;
    change(*this, [&](NodeGraph& renamed) {
      for (const DeviceId nic : node->nics()) renamed.set_model(nic, port->name);
      if (stated) renamed.ports_vary = false;
    });
    return;
  }
  auto changed = with_network_cards(*node, links, port->name, gpus_per_node);
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
