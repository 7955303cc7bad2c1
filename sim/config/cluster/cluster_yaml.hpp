#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/config/strategy/servers_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/placement.hpp"

namespace gradwire::config {

/// What `cluster:` says: the machines and their network, and which of it the job uses.
struct ClusterSpec {
  std::shared_ptr<const Cluster> cluster;
  std::vector<int> gpus;     ///< of each machine: its first so many take part
  std::vector<int> servers;  ///< machine of each parameter server
};

/// The keys of `cluster`.
[[nodiscard]] Section cluster_section();
/// Those of a file with `schema: gradwire.cluster_topology/1`.
[[nodiscard]] Section cluster_file_section();

/// Reads `cluster:` of a scenario: machines of one type (`node`, `nodes`, `gpus_per_node`),
/// `groups` of several types, each with those keys and with `gpu` (a model in place of the node's
/// own), `link`, `links_per_node` and `gpudirect` of its own, or `topology`, a file with both
/// machines and network. On one machine `fabric` may be absent.
/// @param servers  of the job; machines of their own come after those that are read.
[[nodiscard]] ClusterSpec read_cluster(YamlMap& scenario,
                                       const std::optional<ServerSpec>& servers = {});

/// Reads a file with `schema: gradwire.cluster_topology/1` (see NetworkFile) that has `groups`; of
/// one without, only whether it is well formed.
/// @return nothing in `cluster` when the file gives no machines.
[[nodiscard]] ClusterSpec read_cluster_topology(const YamlValue& document);

/// Reads `placement:`: packed (default), round_robin, or a list of "node0.gpu0", each GPU once.
[[nodiscard]] Placement read_placement(YamlMap& scenario, const ClusterSpec& spec);

}  // namespace gradwire::config
