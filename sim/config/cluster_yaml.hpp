#pragma once

#include <memory>

#include "sim/config/yaml_map.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire::config {

struct ClusterSpec {
  std::shared_ptr<const Cluster> cluster;
  int gpus_per_node = 0;  ///< the first so many of each machine take part
};

/// Reads `cluster:` of a scenario. On one machine `fabric` may be absent.
[[nodiscard]] ClusterSpec read_cluster(YamlMap& scenario);

/// Reads `placement:`: packed (default), round_robin, or a list of "node0.gpu0", each GPU once.
[[nodiscard]] Placement read_placement(YamlMap& scenario, const ClusterSpec& spec);

}  // namespace gradwire::config
