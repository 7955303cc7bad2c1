#pragma once

#include <span>
#include <string>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/node_graph.hpp"

namespace gradwire::config {

/// Reads a node type, `schema: gradwire.node_topology/1`: lists of devices (numa, host_bridges,
/// pcie_switches, nvswitches, gpus, nics) and of links between them (pcie, cpu_links, nvlinks),
/// each link with its payload bandwidth and latency in both directions; `peer_to_peer: none |
/// switch | bridge | socket` (the default) is how far apart devices on PCIe reach each other's
/// memory. Or `like`: another node's devices and links, with another `gpu` or `nic` in their place.
/// @throws ConfigError at the place in the file; also for an NVLink lane or a PCIe slot faster than
/// the fastest generation (profiles/tables/links.yaml), and for a GPU or a NIC that a GPU has no
/// way to.
[[nodiscard]] NodeGraph read_node(const YamlValue& document);

/// The keys `peer_to_peer` and `staged_bandwidth`, of node files and of machines in a scenario.
[[nodiscard]] const Fields<NodeGraph>& peer_fields();

/// The keys of a node file.
[[nodiscard]] Section node_section();

/// The YAML text that read_node turns back into the same graph. @param assumptions  become
/// comments. REQUIRES: no two links of a different kind were connected out of the order pcie, smp,
/// nvlink.
[[nodiscard]] std::string write_node(const NodeGraph& node,
                                     std::span<const std::string> assumptions = {});

}  // namespace gradwire::config
