#pragma once

#include <memory>
#include <optional>

#include "sim/config/yaml_map.hpp"
#include "sim/core/fabric.hpp"
#include "sim/core/node_graph.hpp"

namespace gradwire::config {

/// Machines of one type of a cluster.
struct MachineGroup {
  std::shared_ptr<const NodeGraph> node;
  int nodes = 1;
  int gpus_per_node = 0;         ///< the first so many of each take part
  std::optional<PortSpec> port;  ///< of each NIC; nothing before read_ports

  /// Reads `node`, `nodes`, `gpus_per_node`, `socket_bandwidth`, which the links between the node's
  /// sockets get in place of their own, and `peer_to_peer` in place of the node's.
  [[nodiscard]] static MachineGroup read(YamlMap& map);

  /// Reads `gpu`, a model that stands in the node in place of its own; nothing when absent.
  void read_gpu(YamlMap& map);

  /// Reads `link`, `links_per_node` and `gpudirect`: the group's own before those of the fabric
  /// before what the node's NICs are. Where the number of NICs changes, the node gets new ones.
  void read_ports(YamlMap& group, YamlMap& fabric);

  /// REQUIRES: read_ports was called.
  [[nodiscard]] PortGroup ports() const;
};

}  // namespace gradwire::config
