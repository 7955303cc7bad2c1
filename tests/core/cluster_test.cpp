#include "sim/core/cluster.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// `gpus` GPUs and two NICs on one PCIe switch.
std::shared_ptr<const NodeGraph> box(int gpus) {
  auto node = std::make_shared<NodeGraph>();
  const DeviceId hub = node->add({.kind = DeviceKind::pcie_switch});
  const Link slot{
      .kind = LinkKind::pcie, .bandwidth = BytesPerSecond{12e9}, .latency = Seconds{1e-6}};
  for (int i = 0; i < gpus; ++i) node->connect(node->add({.kind = DeviceKind::gpu}), hub, slot);
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    node->connect(node->add({.name = name, .kind = DeviceKind::nic}), hub, slot);
  }
  return node;
}

const Link trunk{
    .kind = LinkKind::network, .bandwidth = BytesPerSecond{10e9}, .latency = Seconds{3e-6}};

/// Ports in turn on the leaves of a fabric: two leaves and a spine.
Fabric leaf_spine(int ports) {
  Fabric fabric;
  fabric.kind = "test";
  fabric.port = {"eth", "tcp", BytesPerSecond{5e9}, Seconds{2e-6}};
  const auto left = fabric.add_switch("leaf0");
  const auto right = fabric.add_switch("leaf1");
  const auto spine = fabric.add_switch("spine");
  fabric.connect(left, spine, trunk);
  fabric.connect(right, spine, trunk);
  for (int i = 0; i < ports; ++i) fabric.attach(i < ports / 2 ? left : right);
  return fabric;
}

std::vector<std::string> names(const Cluster& cluster, const std::vector<LinkId>& path) {
  std::vector<std::string> result;
  result.reserve(path.size());
  for (const LinkId id : path) result.push_back(cluster.link_name(id));
  return result;
}

TEST_CASE("links are numbered node by node, then ports, then trunks", "[cluster]") {
  const auto small = box(1);
  const auto large = box(2);
  const Cluster cluster({small, large, small}, leaf_spine(6));
  // (1 + 2) x 2 + (2 + 2) x 2 + (1 + 2) x 2 inside, 6 x 2 ports, 2 x 2 trunks.
  REQUIRE(cluster.links().size() == 6 + 8 + 6 + 12 + 4);
  CHECK(cluster.link_name(0) == "node0.gpu0->switch0");
  CHECK(cluster.link_name(6) == "node1.gpu0->switch0");
  CHECK(cluster.link_name(20) == "node0.nic0.up");
  CHECK(cluster.link_name(31) == "node2.nic1.down");
  CHECK(cluster.link_name(32) == "leaf0->spine");
}

TEST_CASE("links are found by the names they print", "[cluster]") {
  const auto node = box(1);
  const Cluster cluster({node, node}, leaf_spine(4));
  for (LinkId id = 0; id < static_cast<LinkId>(cluster.links().size()); ++id) {
    CHECK(cluster.find_links(cluster.link_name(id)) == std::vector<LinkId>{id});
  }
  // After 2 x 6 links inside: two a port.
  CHECK(cluster.find_links("node1.nic1") == std::vector<LinkId>{18, 19});
  for (const char* unknown : {"node2.nic0", "node0.nic2", "node0.nic", "node0.nic0.left", "nic0",
                              "node0", "node-1.nic0", "spine->spine", ""}) {
    CHECK(cluster.find_links(unknown).empty());
  }
}

TEST_CASE("a way between machines runs GPU, NIC, up, trunks, down, NIC, GPU", "[cluster]") {
  const auto node = box(2);
  const Cluster cluster({node, node}, leaf_spine(4));
  std::vector<LinkId> path;
  cluster.append_remote({0, 1}, 1, {1, 0}, 0, path);
  CHECK(names(cluster, path) ==
        std::vector<std::string>{"node0.gpu1->switch0", "node0.switch0->mlx5_1", "node0.nic1.up",
                                 "leaf0->spine", "spine->leaf1", "node1.nic0.down",
                                 "node1.mlx5_0->switch0", "node1.switch0->gpu0"});
  const ClusterLink& up = cluster.links()[static_cast<std::size_t>(path[2])];
  CHECK(up.capacity == 5e9);
  CHECK(up.latency == 2e-6);
  CHECK(up.kind == LinkKind::network);

  std::vector<LinkId> nearest;  // both NICs are equally near: gpu0 begins with the first, gpu1 not
  cluster.append_route({0, 1}, {1, 0}, nearest);
  CHECK(cluster.link_name(nearest[2]) == "node0.nic1.up");
  CHECK(cluster.link_name(nearest[5]) == "node1.nic0.down");
  path.clear();
  cluster.append_route({1, 0}, {1, 1}, path);
  CHECK(names(cluster, path) ==
        std::vector<std::string>{"node1.gpu0->switch0", "node1.switch0->gpu1"});
}

TEST_CASE("ports without a way between them are an error that names both switches", "[cluster]") {
  Fabric fabric;
  const auto a = fabric.add_switch("a");
  const auto b = fabric.add_switch("b");
  for (const auto at : {a, a, b}) fabric.attach(at);
  CHECK(fabric.route(0, 1).empty());
  CHECK_FALSE(fabric.reaches(0, 2));
  CHECK_THROWS_MATCHES(fabric.route(0, 2), SimulationError,
                       Catch::Message("fabric: no path from a to b"));
  fabric.connect(a, b, trunk);  // a later trunk is seen
  CHECK(fabric.reaches(0, 2));
  CHECK(fabric.route(0, 2) == std::vector<int>{0});
  CHECK(fabric.route(2, 1) == std::vector<int>{1});
}

TEST_CASE("of two ways the one of less latency is taken, of equal ones that of fewer trunks",
          "[cluster][fabric]") {
  // a - b directly, and a - c - b; the direct trunk is as long as both others, then longer.
  const auto way = [](double direct) {
    Fabric fabric;
    const auto a = fabric.add_switch("a");
    const auto b = fabric.add_switch("b");
    const auto c = fabric.add_switch("c");
    Link straight = trunk;
    straight.latency = Seconds{direct};
    fabric.connect(a, c, trunk);
    fabric.connect(c, b, trunk);
    fabric.connect(a, b, straight);
    fabric.attach(a);
    fabric.attach(b);
    return fabric.route(0, 1);
  };
  CHECK(way(6e-6) == std::vector<int>{4});
  CHECK(way(6.1e-6) == std::vector<int>{0, 2});
}

TEST_CASE("each port has the speed of its own kind", "[cluster][fabric]") {
  Fabric fabric;
  const auto hub = fabric.add_switch("hub");
  const PortSpec slow{"slow", "tcp", BytesPerSecond{1e9}, Seconds{10e-6}};
  const PortSpec fast{"fast", "ib", BytesPerSecond{20e9}, Seconds{1e-6}};
  for (const PortSpec& spec : {slow, slow, fast, fast}) {
    fabric.port = spec;
    fabric.attach(hub);
  }
  CHECK(fabric.port_specs() == std::vector{slow, fast});
  const auto node = box(1);
  const Cluster cluster({node, node}, std::move(fabric));
  const auto link = [&](const char* name) {
    return cluster.links()[static_cast<std::size_t>(cluster.find_links(name).at(0))];
  };
  CHECK(link("node0.nic1.down").capacity == 1e9);
  CHECK(link("node1.nic0.up").capacity == 20e9);
  CHECK(link("node1.nic0.up").latency == 1e-6);
}

TEST_CASE("machines on islands of the fabric are told apart", "[cluster][fabric]") {
  const auto node = box(1);
  const auto islands = [&](std::vector<int> at) {
    Fabric fabric;
    for (const char* name : {"a", "b"}) fabric.add_switch(name);
    fabric.port = {"eth", "tcp", BytesPerSecond{5e9}, Seconds{2e-6}};
    for (const int island : at) fabric.attach(static_cast<Fabric::SwitchId>(island));
    return Cluster({node, node, node}, std::move(fabric)).separated();
  };
  CHECK(islands({0, 1, 0, 1, 0, 1}) == std::nullopt);     // two rails
  CHECK(islands({0, 0, 0, 1, 1, 1}) == std::pair{0, 2});  // joined through node 1 only
  CHECK(islands({0, 0, 0, 0, 1, 1}) == std::pair{0, 2});
}

TEST_CASE("degrading a link changes it alone", "[cluster]") {
  const auto node = box(1);
  Cluster cluster({node, node}, leaf_spine(4));
  const LinkId up = cluster.find_links("node1.nic0.up").at(0);
  cluster.degrade(up, 0.5);
  CHECK(cluster.links()[static_cast<std::size_t>(up)].capacity == 2.5e9);
  int halved = 0;
  for (std::size_t link = 0; link < cluster.links().size(); ++link) {
    halved += cluster.links()[link].capacity == 2.5e9 ? 1 : 0;
  }
  CHECK(halved == 1);
}

TEST_CASE("one machine needs no fabric", "[cluster]") {
  const Cluster cluster({box(3)}, Fabric{});
  CHECK(cluster.links().size() == 10);
  CHECK(cluster.find_links("node0.nic0").empty());
}

TEST_CASE("ranks are placed node by node or in turn", "[cluster]") {
  const auto node = box(4);
  const Cluster cluster({node, node, node}, leaf_spine(6));
  CHECK(packed_placement(cluster, 2) == Placement{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}});
  CHECK(round_robin_placement(cluster, 2) ==
        Placement{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}});
  const std::vector<int> unequal{1, 3};
  CHECK(packed_placement(unequal) == Placement{{0, 0}, {1, 0}, {1, 1}, {1, 2}});
  CHECK(round_robin_placement(unequal) == Placement{{0, 0}, {1, 0}, {1, 1}, {1, 2}});
}

/// Two ports on one switch.
Fabric pair_of(const PortSpec& port) {
  Fabric fabric;
  fabric.port = port;
  const auto hub = fabric.add_switch("hub");
  for (int i = 0; i < 4; ++i) fabric.attach(hub);
  return fabric;
}

TEST_CASE("both directions of a port of less than full duplex cross one more link", "[cluster]") {
  const PortSpec port = {.name = "eth",
                         .kind = "tcp",
                         .bandwidth = BytesPerSecond{10e9},
                         .latency = Seconds{2e-6},
                         .duplex_efficiency = 0.6};
  const auto node = box(1);
  Cluster cluster({node, node}, pair_of(port));
  std::vector<LinkId> out;
  std::vector<LinkId> back;
  cluster.append_remote({0, 0}, 0, {1, 0}, 0, out);
  cluster.append_remote({1, 0}, 0, {0, 0}, 0, back);
  CHECK(names(cluster, out) ==
        std::vector<std::string>{"node0.gpu0->switch0", "node0.switch0->mlx5_0", "node0.nic0.up",
                                 "node0.nic0.both", "node1.nic0.down", "node1.nic0.both",
                                 "node1.mlx5_0->switch0", "node1.switch0->gpu0"});
  CHECK(back[3] == out[5]);
  CHECK(back[5] == out[3]);
  // 60 % of twice 10 GB/s.
  CHECK(cluster.links()[static_cast<std::size_t>(out[3])].capacity == Approx(12e9));
  for (LinkId id = 0; id < static_cast<LinkId>(cluster.links().size()); ++id) {
    CHECK(cluster.find_links(cluster.link_name(id)) == std::vector<LinkId>{id});
  }
  CHECK(cluster.find_links("node0.nic0") == std::vector<LinkId>{out[2], out[2] + 1, out[3]});
}

TEST_CASE("a port adds the kernel's time for a message to its latency, and its connections' limit",
          "[cluster]") {
  const PortSpec port = {.name = "eth",
                         .kind = "tcp",
                         .bandwidth = BytesPerSecond{10e9},
                         .latency = Seconds{2e-6},
                         .connection_bandwidth = BytesPerSecond{3e9},
                         .connections = 4,
                         .message_overhead = Seconds{7e-6}};
  const auto node = box(1);
  const Cluster cluster({node, node}, pair_of(port));
  const ClusterLink& up =
      cluster.links()[static_cast<std::size_t>(cluster.find_links("node0.nic0.up").front())];
  CHECK(up.latency == Approx(9e-6));
  CHECK(up.connection_capacity == 3e9);
  CHECK(up.connections == 4);
}

TEST_CASE("without GPUDirect a byte goes through host memory at both ends", "[cluster]") {
  auto node = std::make_shared<NodeGraph>(*box(1));
  const DeviceId memory = node->add({.kind = DeviceKind::numa});
  const Link slot{
      .kind = LinkKind::pcie, .bandwidth = BytesPerSecond{12e9}, .latency = Seconds{1e-6}};
  node->connect(node->find("switch0").value(), memory, slot);
  const PortSpec direct = {"ib", "ib", BytesPerSecond{10e9}, Seconds{2e-6}};
  PortSpec staged = direct;
  staged.gpudirect = false;
  const std::vector<std::string> through = {"node0.gpu0->switch0",   "node0.switch0->numa0",
                                            "node0.numa0->switch0",  "node0.switch0->mlx5_0",
                                            "node0.nic0.up",         "node1.nic0.down",
                                            "node1.mlx5_0->switch0", "node1.switch0->numa0",
                                            "node1.numa0->switch0",  "node1.switch0->gpu0"};
  for (const bool by_port : {true, false}) {
    const Cluster cluster({node, node}, pair_of(by_port ? staged : direct));
    std::vector<LinkId> path;
    // What a library of host memory does, whatever the port could.
    if (by_port) {
      cluster.append_remote({0, 0}, 0, {1, 0}, 0, path);
    } else {
      cluster.append_through_host({0, 0}, {1, 0}, 0, path);
    }
    CHECK(names(cluster, path) == through);
  }
  const Cluster cluster({node, node}, pair_of(direct));
  std::vector<LinkId> path;
  cluster.append_remote({0, 0}, 0, {1, 0}, 0, path);
  CHECK(path.size() == 6);
  CHECK(cluster.host_copy_bandwidth({0, 0}) == BytesPerSecond{12e9});
}

}  // namespace
}  // namespace gradwire
