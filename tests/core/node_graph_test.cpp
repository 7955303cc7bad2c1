#include "sim/core/node_graph.hpp"

#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

using literals::operator""_GBps;
using literals::operator""_us;

Link pcie(BytesPerSecond bandwidth = 12_GBps, Seconds latency = 1_us) {
  return {.kind = LinkKind::pcie, .bandwidth = bandwidth, .latency = latency};
}
Link nvlink(int lanes, Seconds latency = 1_us) {
  return {LinkKind::nvlink, static_cast<double>(lanes) * 20_GBps, latency, lanes};
}

std::vector<std::string> names(const NodeGraph& node, const std::vector<int>& route) {
  std::vector<std::string> result;
  result.reserve(route.size());
  for (const int id : route) {
    result.push_back(node.resources()[static_cast<std::size_t>(id)].name);
  }
  return result;
}

/// Two switches with two GPUs each under one bridge:  bridge0 - switch0 - gpu0, gpu1
///                                                             - switch1 - gpu2, gpu3
struct TwoSwitches {
  NodeGraph node;
  DeviceId bridge = node.add({.kind = DeviceKind::host_bridge});
  std::vector<DeviceId> gpu;

  explicit TwoSwitches() {
    node.name = "two";
    for (int i = 0; i < 2; ++i) {
      const DeviceId at = node.add({.kind = DeviceKind::pcie_switch});
      node.connect(at, bridge, pcie());
      for (int k = 0; k < 2; ++k) {
        gpu.push_back(node.add({.kind = DeviceKind::gpu}));
        node.connect(gpu.back(), at, pcie());
      }
    }
  }
};

TEST_CASE("GPUs are peers over NVLink, and by PCIe as far as peer_to_peer allows", "[node_graph]") {
  TwoSwitches two;
  const std::vector<DeviceId> all = two.gpu;
  const std::vector<DeviceId> of_one_switch = {two.gpu[0], two.gpu[1]};
  const std::vector<DeviceId> of_two = {two.gpu[1], two.gpu[2]};
  CHECK(two.node.are_peers(all));
  two.node.peer_to_peer = PeerToPeer::pcie_switch;
  CHECK(two.node.are_peers(of_one_switch));
  CHECK_FALSE(two.node.are_peers(of_two));
  CHECK_FALSE(two.node.are_peers(all));
  two.node.peer_to_peer = PeerToPeer::none;
  CHECK_FALSE(two.node.are_peers(of_one_switch));
  two.node.connect(two.gpu[1], two.gpu[2], nvlink(1));
  CHECK(two.node.are_peers(of_two));
}

TEST_CASE("a device without a name is called by its kind and index", "[node_graph]") {
  const TwoSwitches two;
  CHECK(two.node.device(two.gpu[3]).name == "gpu3");
  CHECK(two.node.device(two.gpu[3]).index == 3);
  CHECK(two.node.find("switch1").has_value());
  CHECK_FALSE(two.node.find("switch2").has_value());
}

TEST_CASE("a direct NVLink is taken even where PCIe has less latency", "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.gpu[0], two.gpu[1], nvlink(2, 50_us));
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[1])) ==
        std::vector<std::string>{"gpu0->gpu1"});
  CHECK(two.node.nvlink_lanes(two.gpu[0], two.gpu[1]) == 2);
  CHECK(two.node.nvlink_lanes(two.gpu[0], two.gpu[2]) == 0);
}

TEST_CASE("no way changes from PCIe to NVLink in a GPU", "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.gpu[1], two.gpu[2], nvlink(2));
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[2])) ==
        std::vector<std::string>{"gpu0->switch0", "switch0->bridge0", "bridge0->switch1",
                                 "switch1->gpu2"});
}

TEST_CASE("GPUs of two switches meet on the switches' way to the bridge", "[node_graph]") {
  const TwoSwitches two;
  const auto first = two.node.route(two.gpu[0], two.gpu[2]);
  const auto second = two.node.route(two.gpu[1], two.gpu[3]);
  REQUIRE(first.size() == 4);
  CHECK(first[0] != second[0]);
  CHECK(first[1] == second[1]);  // switch0->bridge0
  CHECK(first[2] == second[2]);  // bridge0->switch1
  CHECK(first[3] != second[3]);
  // 4 links of 1 us; all of 12 GB/s.
  CHECK(two.node.latency(first).count() == Approx(4e-6));
  CHECK(two.node.bottleneck(first) == 12_GBps);
}

TEST_CASE("a transit limit is a resource of its own, numbered after the links", "[node_graph]") {
  NodeGraph node;
  const DeviceId a = node.add({.kind = DeviceKind::gpu});
  const DeviceId bridge = node.add({.kind = DeviceKind::host_bridge, .transit = 9_GBps});
  const DeviceId b = node.add({.kind = DeviceKind::gpu});
  node.connect(a, bridge, pcie());
  node.connect(b, bridge, pcie());
  REQUIRE(node.resources().size() == 5);
  CHECK(node.resources()[4].name == "bridge0");
  CHECK(names(node, node.route(a, b)) ==
        std::vector<std::string>{"gpu0->bridge0", "bridge0", "bridge0->gpu1"});
  CHECK(node.bottleneck(node.route(a, b)) == 9_GBps);
}

TEST_CASE("of equal-cost paths the wider is taken, of equally wide ones the lower ids",
          "[node_graph]") {
  NodeGraph node;
  const DeviceId a = node.add({.kind = DeviceKind::gpu});
  const DeviceId b = node.add({.kind = DeviceKind::gpu});
  const BytesPerSecond second = GENERATE(8_GBps, 12_GBps, 16_GBps);
  for (const BytesPerSecond bandwidth : {12_GBps, second}) {
    const DeviceId at = node.add({.kind = DeviceKind::pcie_switch});
    // 0.1 + 0.2 us and 0.2 + 0.1 us differ in the last bit of a double, yet are equally short.
    const bool first = bandwidth == 12_GBps && !node.find("switch1");
    node.connect(a, at, pcie(bandwidth, Seconds{first ? 1e-7 : 2e-7}));
    node.connect(at, b, pcie(bandwidth, Seconds{first ? 2e-7 : 1e-7}));
  }
  const std::string expected = second > 12_GBps ? "gpu0->switch1" : "gpu0->switch0";
  CHECK(names(node, node.route(a, b)).front() == expected);
}

TEST_CASE("lanes through an NVSwitch are the fewer of the two GPUs'", "[node_graph]") {
  NodeGraph node;
  const DeviceId a = node.add({.kind = DeviceKind::gpu});
  const DeviceId b = node.add({.kind = DeviceKind::gpu});
  const DeviceId crossbar = node.add({.kind = DeviceKind::nvswitch});
  node.connect(a, crossbar, nvlink(6));
  node.connect(b, crossbar, nvlink(4));
  CHECK(node.nvlink_lanes(a, b) == 4);
  CHECK(names(node, node.route(a, b)) ==
        std::vector<std::string>{"gpu0->nvswitch0", "nvswitch0->gpu1"});
}

TEST_CASE("NICs are ordered by the latency of the way to them, then by index", "[node_graph]") {
  TwoSwitches two;
  const auto attach = [&](const std::string& at) {
    two.node.connect(two.node.add({.kind = DeviceKind::nic}), two.node.find(at).value(), pcie());
  };
  attach("switch1");
  attach("switch0");
  attach("switch0");
  CHECK(two.node.nics_by_distance(two.gpu[0]) == std::vector<int>{1, 2, 0});
  CHECK(two.node.nics_by_distance(two.gpu[3]) == std::vector<int>{0, 1, 2});
}

TEST_CASE("GPUs that share the nearest NICs begin at another each", "[node_graph]") {
  TwoSwitches two;
  for (const char* at : {"switch0", "switch0", "switch1", "switch1"}) {
    two.node.connect(two.node.add({.kind = DeviceKind::nic}), two.node.find(at).value(), pcie());
  }
  CHECK(two.node.nics_by_distance(two.gpu[0]) == std::vector<int>{0, 1, 2, 3});
  CHECK(two.node.nics_by_distance(two.gpu[1]) == std::vector<int>{1, 0, 2, 3});
  CHECK(two.node.nics_by_distance(two.gpu[2]) == std::vector<int>{2, 3, 0, 1});
  CHECK(two.node.nics_by_distance(two.gpu[3]) == std::vector<int>{3, 2, 0, 1});
}

TEST_CASE("devices that no path leads to are named", "[node_graph]") {
  TwoSwitches two;
  CHECK(two.node.unreached(two.gpu[0]).empty());
  const DeviceId alone = two.node.add({.kind = DeviceKind::nic});
  two.node.connect(two.gpu[3], two.node.add({.kind = DeviceKind::gpu}), nvlink(1));
  // Nothing passes through a GPU: the one behind gpu3 is out of gpu0's reach, not of gpu3's.
  CHECK(two.node.unreached(two.gpu[0]) == std::vector<DeviceId>{alone, two.node.gpus().back()});
  CHECK(two.node.unreached(two.gpu[3]) == std::vector<DeviceId>{alone});
}

TEST_CASE("no way between two devices is an error that names both", "[node_graph]") {
  TwoSwitches two;
  const DeviceId alone = two.node.add({.kind = DeviceKind::gpu});
  CHECK(two.node.route(alone, alone).empty());
  CHECK_THROWS_MATCHES(two.node.route(two.gpu[0], alone), SimulationError,
                       Catch::Message("node 'two': no path from gpu0 to gpu4"));
}

TEST_CASE("GPUs without a direct NVLink meet at the GPU between them that gives most",
          "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.gpu[0], two.gpu[1], nvlink(2));
  two.node.connect(two.gpu[1], two.gpu[3], nvlink(1));
  two.node.connect(two.gpu[0], two.gpu[2], nvlink(2));
  two.node.connect(two.gpu[2], two.gpu[3], nvlink(2));
  // By gpu1 one lane of 20 GB/s, by gpu2 two.
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[3])) ==
        std::vector<std::string>{"gpu0->gpu2", "gpu2->gpu3"});
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[1])) ==
        std::vector<std::string>{"gpu0->gpu1"});
  CHECK(two.node.nvlink_lanes(two.gpu[0], two.gpu[3]) == 0);  // rings ask for direct ones
}

TEST_CASE("no NVLink way passes two GPUs", "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.gpu[0], two.gpu[1], nvlink(2));
  two.node.connect(two.gpu[1], two.gpu[2], nvlink(2));
  two.node.connect(two.gpu[2], two.gpu[3], nvlink(2));
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[3])).front() == "gpu0->switch0");
}

TEST_CASE("through host memory a byte passes the host bridge on its way in and out",
          "[node_graph]") {
  NodeGraph node;
  const DeviceId bridge = node.add({.kind = DeviceKind::host_bridge, .transit = 20_GBps});
  const DeviceId hub = node.add({.kind = DeviceKind::pcie_switch});
  const DeviceId gpu = node.add({.kind = DeviceKind::gpu});
  const DeviceId nic = node.add({.kind = DeviceKind::nic});
  node.connect(hub, bridge, pcie());
  node.connect(gpu, hub, pcie());
  node.connect(nic, hub, pcie());
  CHECK(names(node, node.route(gpu, nic)) ==
        std::vector<std::string>{"gpu0->switch0", "switch0->nic0"});
  // Without a NUMA node the bridge stands for the memory behind it.
  CHECK(names(node, node.route_through_host(gpu, nic)) ==
        std::vector<std::string>{"gpu0->switch0", "switch0->bridge0", "bridge0", "bridge0",
                                 "bridge0->switch0", "switch0->nic0"});
  const DeviceId memory = node.add({.kind = DeviceKind::numa});
  node.connect(bridge, memory, pcie());
  CHECK(names(node, node.route_through_host(nic, gpu)) ==
        std::vector<std::string>{"nic0->switch0", "switch0->bridge0", "bridge0", "bridge0->numa0",
                                 "numa0->bridge0", "bridge0", "bridge0->switch0", "switch0->gpu0"});
  CHECK(node.host_copy_bandwidth(gpu) == 12_GBps);
}

TEST_CASE("devices too far apart for peer-to-peer meet in host memory", "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.node.add({.kind = DeviceKind::numa}), two.bridge, pcie());
  const std::vector<std::string> direct = {"gpu1->switch0", "switch0->bridge0", "bridge0->switch1",
                                           "switch1->gpu2"};
  const std::vector<std::string> staged = {"gpu1->switch0",  "switch0->bridge0", "bridge0->numa0",
                                           "numa0->bridge0", "bridge0->switch1", "switch1->gpu2"};
  const auto way = [&] { return names(two.node, two.node.route(two.gpu[1], two.gpu[2])); };
  CHECK(way() == direct);
  two.node.peer_to_peer = PeerToPeer::host_bridge;
  CHECK(way() == direct);
  two.node.peer_to_peer = PeerToPeer::pcie_switch;
  CHECK(way() == staged);
  CHECK(two.node.route(two.gpu[0], two.gpu[1]).size() == 2);  // on one switch
}

TEST_CASE("without peer access GPUs below one switch meet in host memory", "[node_graph]") {
  TwoSwitches two;
  two.node.connect(two.node.add({.kind = DeviceKind::numa}), two.bridge, pcie());
  two.node.peer_to_peer = PeerToPeer::none;
  CHECK(names(two.node, two.node.route(two.gpu[0], two.gpu[1])) ==
        std::vector<std::string>{"gpu0->switch0", "switch0->bridge0", "bridge0->numa0",
                                 "numa0->bridge0", "bridge0->switch0", "switch0->gpu1"});
}

TEST_CASE("a store into another socket's memory fetches its line first", "[node_graph]") {
  NodeGraph node;
  const DeviceId near = node.add({.kind = DeviceKind::numa});
  const DeviceId far = node.add({.kind = DeviceKind::numa});
  const DeviceId a = node.add({.kind = DeviceKind::gpu});
  const DeviceId b = node.add({.kind = DeviceKind::gpu});
  node.connect(near, far, {.kind = LinkKind::smp, .bandwidth = 10_GBps, .latency = 1_us});
  node.connect(a, near, pcie());
  node.connect(b, far, pcie());
  CHECK(names(node, node.route(a, b)) ==
        std::vector<std::string>{"gpu0->numa0", "numa0->numa1", "numa1->gpu1"});
  node.peer_to_peer = PeerToPeer::none;
  CHECK(names(node, node.route(a, b)) ==
        std::vector<std::string>{"gpu0->numa0", "numa0->numa1", "numa1->numa0", "numa1->gpu1"});
}

TEST_CASE("data are staged in the memory next to the GPU, not to the NIC", "[node_graph]") {
  NodeGraph node;
  const DeviceId near = node.add({.kind = DeviceKind::numa});
  const DeviceId far = node.add({.kind = DeviceKind::numa});
  const DeviceId gpu = node.add({.kind = DeviceKind::gpu});
  const DeviceId nic = node.add({.kind = DeviceKind::nic});
  node.connect(near, far, {.kind = LinkKind::smp, .bandwidth = 10_GBps, .latency = 1_us});
  node.connect(gpu, near, pcie());
  node.connect(nic, far, pcie());
  const std::vector<std::string> in = {"nic0->numa1", "numa1->numa0", "numa0->gpu0"};
  CHECK(names(node, node.route_through_host(nic, gpu)) == in);
  CHECK(node.bottleneck(node.route_through_host(nic, gpu)) == 10_GBps);  // the processors' link
}

}  // namespace
}  // namespace gradwire
