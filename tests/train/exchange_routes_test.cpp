#include "sim/train/exchange_routes.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "sim/config/cluster/node_yaml.hpp"
#include "strategies/parts/job_places.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;

namespace {

/// GPUs 0 and 1 at socket 0, 2 and 3 at socket 1.
Cluster two_sockets() {
  return test::cluster_of({std::make_shared<const NodeGraph>(config::read_node(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/pcie3_4x_2080ti.yaml")))});
}

/// What `message` crosses, by kind of link.
std::pair<int, int> crossed(const Message& message) {
  const Cluster cluster = two_sockets();
  const Exchange exchange{.name = "copy", .phases = {{message}}};
  const Placement placement = {{0, 0}, {0, 1}, {0, 2}, {0, 3}};
  std::pair<int, int> pcie_and_sockets;
  for (const LinkId link : lay_exchange(exchange, cluster, placement, {}).path_links) {
    const LinkKind kind = cluster.links()[static_cast<std::size_t>(link)].kind;
    pcie_and_sockets.first += kind == LinkKind::pcie ? 1 : 0;
    pcie_and_sockets.second += kind == LinkKind::smp ? 1 : 0;
  }
  return pcie_and_sockets;
}

}  // namespace

TEST_CASE("an exchange takes links where its messages have some to visit", "[exchange]") {
  const auto node = std::make_shared<const NodeGraph>(config::read_node(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/pcie3_4x_2080ti.yaml")));
  const Cluster cluster = test::cluster_of({node, node});
  const Placement placement = {{0, 0}, {0, 1}, {1, 2}};
  const std::vector<int> servers = {0, 1, 1};
  std::vector<LinkId> path;
  int without = 0;
  for (const auto from : {Endpoint::Place::gpu, Endpoint::Place::host, Endpoint::Place::server}) {
    for (const auto to : {Endpoint::Place::gpu, Endpoint::Place::host, Endpoint::Place::server}) {
      for (int pair = 0; pair < 9; ++pair) {
        const Exchange exchange{.name = "one", .phases = {{{{from, pair / 3}, {to, pair % 3}}}}};
        int links = 0;
        visit_links(exchange, cluster, placement, servers, path, [&](LinkId, double) { ++links; });
        CHECK(takes_links(exchange, cluster, placement, servers) == (links > 0));
        without += links == 0 ? 1 : 0;
      }
    }
  }
  CHECK(without > 0);
}

TEST_CASE("a copy to host memory of a rank at the other socket crosses to it, and back",
          "[exchange]") {
  // A GPU's slot and its host bridge, in each direction.
  CHECK(crossed({gpu_of(2), host_of(2)}) == std::pair{2, 0});
  CHECK(crossed({gpu_of(1), host_of(0)}) == std::pair{2, 0});
  CHECK(crossed({gpu_of(2), host_of(0)}) == std::pair{2, 1});
  CHECK(crossed({host_of(0), gpu_of(3)}) == std::pair{2, 1});
  CHECK(crossed({host_of(3), gpu_of(2)}) == std::pair{2, 0});
}
