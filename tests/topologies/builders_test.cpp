#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/topologies/machines.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire {
namespace {

using test::machines;
using test::test_port;
using test::test_trunk;

std::size_t hops(const Fabric& fabric, int from, int to) {
  return fabric.route(from, to).size();
}

TEST_CASE("a two-level fat tree has 0 or 2 trunks between machines", "[topology][fat_tree]") {
  FatTreeShape shape;
  shape.machines_per_leaf = 3;
  shape.spines = 2;
  shape.cables_per_spine = 2;
  shape.trunk = test_trunk();
  const Fabric fabric = fat_tree(machines(8, 2), shape);
  // Leaves: ceil(8 / 3) = 3. Trunks: 3 leaves x 2 spines x 2 cables, both ways.
  CHECK(fabric.graph().vertices().size() == 3 + 2);
  CHECK(fabric.graph().edges().size() == 2 * 3 * 2 * 2);
  CHECK(fabric.port_count() == 16);
  CHECK(hops(fabric, 0, 5) == 0);  // machines 0 and 2
  CHECK(hops(fabric, 0, 6) == 2);  // machines 0 and 3
}

TEST_CASE("a three-level fat tree has 0, 2 or 4 trunks between machines", "[topology][fat_tree]") {
  // The k-ary fat tree of Al-Fares et al. with k = 4: k^3 / 4 = 16 machines, k pods of k/2 leaves
  // and k/2 spines, (k/2)^2 = 4 cores; k^3 / 2 = 32 trunks, both ways.
  FatTreeShape shape;
  shape.machines_per_leaf = 2;
  shape.spines = 2;
  shape.leaves_per_pod = 2;
  shape.cores_per_spine = 2;
  shape.trunk = test_trunk();
  const Fabric fabric = fat_tree(machines(16, 1), shape);
  CHECK(fabric.graph().vertices().size() == 8 + 8 + 4);
  CHECK(fabric.graph().edges().size() == 2 * 32);
  CHECK(hops(fabric, 0, 1) == 0);
  CHECK(hops(fabric, 0, 3) == 2);
  CHECK(hops(fabric, 0, 4) == 4);
  CHECK(fabric.graph()[fabric.switch_of(15)].name == "leaf7");
}

TEST_CASE("machines on one leaf have nothing above it", "[topology][fat_tree]") {
  FatTreeShape shape;
  shape.machines_per_leaf = 4;
  shape.spines = 4;
  shape.trunk = test_trunk();
  CHECK(fat_tree(machines(4, 2), shape).graph().vertices().size() == 1);
}

TEST_CASE("NIC i of every machine hangs on rail i, and spines join the rails", "[topology][rail]") {
  const Fabric apart = rail(machines(3, 4), {});
  CHECK(apart.graph().vertices().size() == 4);
  for (int port = 0; port < apart.port_count(); ++port) {
    CHECK(apart.graph()[apart.switch_of(port)].name == "rail" + std::to_string(port % 4));
  }
  CHECK(apart.reaches(1, 5));
  CHECK_FALSE(apart.reaches(1, 6));

  RailShape shape;
  shape.machines_per_leaf = 2;
  shape.spines = 2;
  shape.trunk = test_trunk();
  const Fabric joined = rail(machines(3, 4), shape);
  CHECK(joined.graph().vertices().size() == 4 * 2 + 2);
  CHECK(hops(joined, 0, 4) == 0);  // nic0 of machines 0 and 1
  CHECK(hops(joined, 0, 8) == 2);  // nic0 of machines 0 and 2
  CHECK(hops(joined, 0, 1) == 2);  // nic0 and nic1
}

TEST_CASE("without spines data change the rail over NVLink inside the sending machine",
          "[topology][rail]") {
  const auto names = [](bool nvlink) {
    const auto node = test::gpus_with_nics(2, nvlink);
    const Cluster cluster({node, node}, rail(machines(2, 2), {}));
    CHECK(cluster.separated() == std::nullopt);
    std::vector<LinkId> path;
    cluster.append_remote({0, 0}, 0, {1, 1}, 1, path);
    std::vector<std::string> result;
    for (const LinkId id : path) result.push_back(cluster.link_name(id));
    return result;
  };
  CHECK(names(true) == std::vector<std::string>{"node0.gpu0->gpu1", "node0.gpu1->switch1",
                                                "node0.switch1->nic1", "node0.nic1.up",
                                                "node1.nic1.down", "node1.nic1->switch1",
                                                "node1.switch1->gpu1"});
  CHECK(names(false) == std::vector<std::string>{"node0.gpu0->switch0", "node0.switch0->bridge0",
                                                 "node0.bridge0->switch1", "node0.switch1->nic1",
                                                 "node0.nic1.up", "node1.nic1.down",
                                                 "node1.nic1->switch1", "node1.switch1->gpu1"});
}

TEST_CASE("a dragonfly has at most local, global, local between any two routers",
          "[topology][dragonfly]") {
  DragonflyShape shape;
  shape.groups = 9;
  shape.routers_per_group = 4;
  shape.global_links = 2;
  shape.local = test_trunk();
  shape.global = test_trunk();
  shape.global.latency = Seconds{1e-6};
  const Fabric fabric = dragonfly(machines(36, 1), shape);
  // 4 x 2 = 8 global links of a group, 8 other groups: one link a pair.
  CHECK(links_per_pair(shape) == 1);
  // Local trunks: 9 x (4 x 3 / 2) = 54; global: 9 x 8 / 2 = 36; both ways.
  CHECK(fabric.graph().edges().size() == 2 * (54 + 36));
  // Between 4 groups and the other 5: 4 x 5 pairs with a link each.
  CHECK(test::trunks_across(fabric, [](auto id) { return id < 16; }) == 4 * 5);
  const auto is_global = [&](int trunk) {
    const auto edge = fabric.graph().edges()[static_cast<std::size_t>(trunk)];
    return fabric.graph()[edge].latency > Seconds{};
  };
  for (int from = 0; from < 36; ++from) {
    for (int to = 0; to < 36; ++to) {
      const auto route = fabric.route(from, to);
      const auto global = std::count_if(route.begin(), route.end(), is_global);
      CHECK(global == (from / 4 == to / 4 ? 0 : 1));
      CHECK(route.size() <= 3);
      // Each trunk begins where the last one ends.
      auto at = static_cast<Fabric::SwitchId>(from);
      for (const int trunk : route) {
        const auto edge = fabric.graph().edges()[static_cast<std::size_t>(trunk)];
        CHECK(edge.source == at);
        at = edge.target;
      }
      CHECK(at == static_cast<Fabric::SwitchId>(to));
    }
  }
  // No router has more than its 3 local and 2 global links.
  for (std::size_t id = 0; id < 36; ++id) CHECK(fabric.graph().out_edges(id).size() <= 5);
}

TEST_CASE("a torus goes the shorter way round in each dimension", "[topology][torus]") {
  TorusShape shape;
  shape.dimensions = {4, 3, 2};
  shape.trunk = test_trunk();
  const Fabric fabric = torus(machines(24, 1), shape);
  // Trunks: one for each switch in the dimensions of 4 and 3, half as many in that of 2.
  CHECK(fabric.graph().edges().size() == 2 * (24 + 24 + 12));
  const auto around = [](int a, int b, int size) {
    const int up = (b - a + size) % size;
    return std::min(up, size - up);
  };
  for (int from = 0; from < 24; ++from) {
    for (int to = 0; to < 24; ++to) {
      const int expected = around(from / 6, to / 6, 4) + around(from / 2 % 3, to / 2 % 3, 3) +
                           around(from % 2, to % 2, 2);
      CHECK(hops(fabric, from, to) == static_cast<std::size_t>(expected));
    }
  }
}

TEST_CASE("half of a torus is joined to the other half by two cuts", "[topology][torus]") {
  // k x k with even k, cut across one dimension: k rows, each cut at the middle and at the end.
  const int k = GENERATE(4, 6);
  TorusShape shape;
  shape.dimensions = {k, k};
  shape.trunk = test_trunk();
  const Fabric fabric = torus(machines(k * k, 1), shape);
  CHECK(test::trunks_across(fabric, [&](auto id) { return static_cast<int>(id) < k * k / 2; }) ==
        2 * k);
}

}  // namespace
}  // namespace gradwire
