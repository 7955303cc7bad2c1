#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/config/yaml/fields.hpp"
#include "sim/core/fabric.hpp"
#include "sim/core/node_graph.hpp"

namespace gradwire::config {

/// Machines of one type of a cluster.
struct MachineGroup {
  std::shared_ptr<const NodeGraph> node;
  int nodes = 1;
  int gpus_per_node = 0;         ///< the first so many of each take part
  std::optional<PortSpec> port;  ///< of each NIC; nothing before read_ports

  /// Reads `link`, `links_per_node` and `gpudirect`: the group's own before those of the fabric
  /// before what the node's NICs are. Where the number of NICs changes, the node gets new ones.
  void read_ports(YamlMap& group, YamlMap& fabric);

  /// REQUIRES: read_ports was called.
  [[nodiscard]] PortGroup ports() const;
};

/// The keys of machines: the node type, how many, and what stands in the place of the type's own
/// (rate between sockets, peer to peer, GPU).
[[nodiscard]] const Fields<MachineGroup>& machine_fields();

/// The keys of their ports, which read_ports reads.
[[nodiscard]] std::vector<KeyInfo> port_keys();

}  // namespace gradwire::config
