#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/fabric.hpp"

namespace gradwire::config {

/// A network as a graph, of a file with `schema: gradwire.cluster_topology/1`:
///
///   schema: gradwire.cluster_topology/1
///   name: two_rooms
///   source: a drawing of the two rooms
///   switches: [{id: room0}, {id: room1}]
///   trunks:                               # one direction each way; cables: parallel ones, 1
///     - {a: room0, b: room1, bandwidth: 12.07 GB/s, latency: 0.3 us, cables: 2}
///   ports:                                # which NICs hang where; without nics: all of the node
///     - {switch: room0, nodes: [0, 1]}
///     - {switch: room1, nodes: [2, 3], nics: [0, 1]}
///
/// `fabric: {topology: FILE}` of a scenario takes the network and gives the nodes itself;
/// `cluster: {topology: FILE}` takes a file that also has the keys of `cluster` that say what hangs
/// there: `groups`, and beside them `link`, `links_per_node`, `gpudirect`, `routing`, `ecmp_seed`
/// as under `fabric`.
class NetworkFile {
 public:
  /// Reads `name`, `source`, `switches`, `trunks` and `ports` of the document.
  explicit NetworkFile(YamlMap& document);
  /// Those keys.
  [[nodiscard]] static std::vector<KeyInfo> keys();

  /// The fabric with every NIC of the machines attached. @param ports  of the scenario's machines.
  /// @throws ConfigError at the port that names a machine or NIC that is not there, or a NIC twice,
  ///         and at `ports` when a NIC hangs nowhere.
  [[nodiscard]] Fabric fabric(std::span<const PortGroup> ports) const;

 private:
  struct Port {
    Fabric::SwitchId at = 0;
    std::vector<const YamlValue*> nodes;
    std::vector<const YamlValue*> nics;
  };

  std::string name_;
  Fabric switches_;
  std::vector<Port> ports_;
  SourceLocation where_;  ///< of `ports`
};

}  // namespace gradwire::config
