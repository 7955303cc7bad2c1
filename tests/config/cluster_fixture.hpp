#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "sim/config/scenario.hpp"
#include "sim/core/cluster.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

namespace gradwire::test {

/// Scenarios of a cluster only; the cluster is line 2.
class ClusterFixture : public ConfigFixture {
 public:
  [[nodiscard]] config::Scenario read(const std::string& cluster) const {
    return config::read_scenario(write("schema: gradwire.scenario/1\n" + cluster + "\n"), {},
                                 config::Needs::cluster_only)
        .front();
  }
  /// What is wrong with it, without the folder of the file.
  [[nodiscard]] std::string message(const std::string& cluster) const {
    return refusal_of([&] { return read(cluster); });
  }
  [[nodiscard]] std::string with_fabric(const std::string& fabric, int nodes = 4) const {
    return fmt::format("cluster: {{node: pair, nodes: {}, fabric: {{{}}}}}", nodes, fabric);
  }
  [[nodiscard]] std::string fabric_message(const std::string& fabric, int nodes = 4) const {
    return message(with_fabric(fabric, nodes));
  }
  /// Switches of a fabric, and directed trunks.
  [[nodiscard]] std::pair<std::size_t, std::size_t> size(const std::string& fabric,
                                                         int nodes) const {
    const config::Scenario scenario = read(with_fabric(fabric, nodes));
    const auto& graph = scenario.cluster->fabric().graph();
    return {graph.vertices().size(), graph.edges().size()};
  }
};

}  // namespace gradwire::test
