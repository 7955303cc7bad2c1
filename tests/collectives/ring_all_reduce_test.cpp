#include "sim/collectives/planners.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "sim/collectives/machines.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/collectives/shares.hpp"

namespace gradwire {
namespace {

using test::cluster_of;
using test::dgx1v;
using test::dgx1v_cluster;
using test::on_node0;
using test::share_per_rank;

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Each ring visits each rank once, and each flow ends where the next of its group begins.
void check_groups(const Pattern& pattern) {
  for (auto order : ring_orders(pattern)) {
    std::sort(order.begin(), order.end());
    CHECK(order == all_ranks(pattern.ranks));
  }
  const auto& flows = pattern.phases[0].flows;
  const auto ranks = static_cast<std::size_t>(pattern.ranks);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::size_t next = (i + 1) % ranks == 0 ? i + 1 - ranks : i + 1;
    CHECK(flows[next].source == flows[i].destination);
    CHECK(flows[next].group == flows[i].group);
  }
}

/// Reduce-scatter and all-gather each pass (n-1)/n of the size through every rank.
void check_shares(const Pattern& pattern) {
  std::map<int, double> received;
  for (const PatternFlow& flow : pattern.phases[0].flows) {
    received[flow.destination] += flow.share;
    CHECK(flow.path_size > 0);
    CHECK(flow.path_begin + flow.path_size <= pattern.path_links.size());
  }
  const double share = 2.0 * (pattern.ranks - 1) / pattern.ranks;
  CHECK(share_per_rank(pattern) == Approx(share));
  for (const auto& [rank, sum] : received) CHECK(sum == Approx(share));
}

/// What every ring all-reduce must satisfy, whatever the machines.
void check_ring(const Pattern& pattern) {
  REQUIRE(pattern.phases.size() == 1);
  const Phase& phase = pattern.phases[0];
  CHECK(phase.coupling == Coupling::ring);
  CHECK(phase.steps == 2 * (pattern.ranks - 1));
  REQUIRE(std::ssize(phase.flows) == std::ptrdiff_t{pattern.ranks} * pattern.channels);
  check_groups(pattern);
  check_shares(pattern);
}

/// Link -> flows that use it.
std::map<std::string, int> flows_over(const Cluster& cluster, const Pattern& pattern) {
  std::map<std::string, int> count;
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    for (std::uint32_t i = 0; i < flow.path_size; ++i) {
      ++count[cluster.link_name(pattern.path_links[flow.path_begin + i])];
    }
  }
  return count;
}

/// No NVLink carries more rings than it has lanes.
void check_lanes(const Cluster& cluster, const Pattern& pattern) {
  for (const auto& [name, count] : flows_over(cluster, pattern)) {
    const ClusterLink& link =
        cluster.links()[static_cast<std::size_t>(cluster.find_links(name).at(0))];
    if (link.kind != LinkKind::nvlink) continue;
    INFO(name);
    CHECK(count <= std::lround(link.capacity / test::lane_rate));
  }
}

/// Every NIC of a DGX-1V sends and receives one channel, and none crosses the processors.
void check_nics(const std::map<std::string, int>& use, const std::string& node) {
  for (const std::string nic : {".nic0", ".nic1", ".nic2", ".nic3"}) {
    CHECK(use.at(node + nic + ".up") == 1);
    CHECK(use.at(node + nic + ".down") == 1);
  }
  CHECK_FALSE(use.contains(node + ".numa0->numa1"));
}

}  // namespace

TEST_CASE("The nodes of ranks are each there once, rising, whatever the ranks' order",
          "[collectives]") {
  CHECK(nodes_of({}).empty());
  CHECK(nodes_of({{0, 0}, {0, 1}, {2, 0}}) == std::vector<int>{0, 2});
  CHECK(nodes_of({{2, 0}, {0, 0}, {2, 1}, {1, 0}}) == std::vector<int>{0, 1, 2});
}

TEST_CASE("Ring all-reduce on GPUs of one DGX-1V has a channel a ring", "[collectives]") {
  const Cluster cluster = dgx1v_cluster(1);
  const auto [members, channels] =
      GENERATE(table<Placement, int>({{on_node0({0, 1}), 1},
                                      {on_node0({0, 1, 2}), 2},
                                      {on_node0({0, 1, 2, 3}), 4},
                                      {on_node0({0, 1, 2, 3, 4, 5, 6, 7}), 6}}));
  const Pattern pattern = plan_ring_all_reduce(cluster, members);
  CHECK(pattern.channels == channels);
  CHECK(pattern.machines == 1);
  check_ring(pattern);
  check_lanes(cluster, pattern);
}

TEST_CASE("Ring all-reduce of 2 and 4 DGX-1V has a channel a NIC", "[collectives]") {
  const int nodes = GENERATE(2, 4);
  const Cluster cluster = dgx1v_cluster(nodes);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  CHECK(pattern.channels == 4);
  CHECK(pattern.machines == nodes);
  check_ring(pattern);
  check_lanes(cluster, pattern);

  const auto use = flows_over(cluster, pattern);
  for (int node = 0; node < nodes; ++node) check_nics(use, "node" + std::to_string(node));
}

TEST_CASE("GPUs without NVLink between them ring over PCIe by index", "[collectives]") {
  const Cluster pcie = cluster_of({std::make_shared<NodeGraph>(test::pcie_node(4, 0))});
  const Pattern four = plan_ring_all_reduce(pcie, on_node0({0, 1, 2, 3}));
  CHECK(four.channels == 1);
  CHECK(ring_orders(four) == std::vector<std::vector<int>>{{0, 1, 2, 3}});
  check_ring(four);

  // GPU 4 of a DGX-1V reaches only GPU 0 of these five.
  const Pattern five = plan_ring_all_reduce(dgx1v_cluster(1), on_node0({0, 1, 2, 3, 4}));
  CHECK(ring_orders(five) == std::vector<std::vector<int>>{{0, 1, 2, 3, 4}});
  check_ring(five);
}

TEST_CASE("An NVSwitch gives a ring a lane of a GPU", "[collectives]") {
  const Cluster cluster = cluster_of({test::nvswitch_node()});
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  CHECK(pattern.channels == 12);
  check_ring(pattern);
  check_lanes(cluster, pattern);
}

TEST_CASE("Several machines of any kind have a ring for each near NIC", "[collectives]") {
  const auto pcie = std::make_shared<const NodeGraph>(test::pcie_node(4, 1));
  const auto two_nics_a_switch = std::make_shared<const NodeGraph>(test::pcie_node(2, 2));
  struct Case {
    std::string what;
    std::shared_ptr<const NodeGraph> node;
    int gpus_per_node;
    int channels;
  };
  const auto one = GENERATE_COPY(values<Case>({
      {"one GPU a machine: its own NIC", dgx1v(), 1, 1},
      {"2 GPUs, 4 NICs: only one NIC is near", dgx1v(), 2, 1},
      {"4 GPUs: two NICs are near", dgx1v(), 4, 2},
      {"NVSwitch", test::nvswitch_node(), 8, 4},
      {"no NVLink: rings by index", pcie, 4, 2},
      {"one GPU, two equally near NICs", two_nics_a_switch, 1, 2},
  }));
  INFO(one.what);
  const Cluster cluster = cluster_of({one.node, one.node, one.node});
  const Pattern pattern =
      plan_ring_all_reduce(cluster, packed_placement(cluster, one.gpus_per_node));
  CHECK(pattern.channels == one.channels);
  check_ring(pattern);
  check_lanes(cluster, pattern);
}

TEST_CASE("A GPU far from the port sends over NVLink through the one beside it, if GPUs relay",
          "[collectives]") {
  const bool nvlinked = GENERATE(true, false);
  const auto node = test::far_gpu_node(nvlinked);
  Cluster cluster = cluster_of({node, node});
  const bool relay = GENERATE(true, false);
  cluster.set_gpus_relay(relay);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 2));
  CHECK(ring_orders(pattern) == std::vector<std::vector<int>>{{0, 1, 2, 3}});
  const auto use = flows_over(cluster, pattern);
  CHECK(use.contains("node0.gpu1->gpu0") == (nvlinked && relay));
  CHECK(use.contains("node0.switch1->numa0") == !(nvlinked && relay));
  CHECK(use.at("node0.nic0.up") == 1);
}

TEST_CASE("Equally near ports of a pair of GPUs serve one each, both ways round", "[collectives]") {
  const auto node = std::make_shared<const NodeGraph>(test::pcie_node(2, 2));
  const Cluster cluster = cluster_of({node, node});
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 2));
  CHECK(ring_orders(pattern) == std::vector<std::vector<int>>{{0, 1, 2, 3}, {1, 0, 3, 2}});
  for (const auto& [link, count] : flows_over(cluster, pattern)) {
    INFO(link);
    if (link.find(".nic") != std::string::npos) CHECK(count == 1);
  }
}

TEST_CASE("Without NVLink a ring goes to the nearest GPU that is left", "[collectives]") {
  // Four GPUs in turn on two switches: by index each hop would cross between them.
  NodeGraph node;
  const DeviceId root = node.add({.kind = DeviceKind::numa});
  const DeviceId left = node.add({.kind = DeviceKind::pcie_switch});
  const DeviceId right = node.add({.kind = DeviceKind::pcie_switch});
  node.connect(left, root, test::pcie());
  node.connect(right, root, test::pcie());
  for (int gpu = 0; gpu < 4; ++gpu) {
    node.connect(node.add({.kind = DeviceKind::gpu}), gpu % 2 == 0 ? left : right, test::pcie());
  }
  const Cluster cluster = cluster_of({std::make_shared<const NodeGraph>(std::move(node))});
  const Pattern pattern = plan_ring_all_reduce(cluster, on_node0({0, 1, 2, 3}));
  CHECK(ring_orders(pattern) == std::vector<std::vector<int>>{{0, 2, 1, 3}});
}

TEST_CASE("Machines may differ in kind and in the number of their ranks", "[collectives]") {
  const Cluster cluster = cluster_of({dgx1v(), test::nvswitch_node()});
  const Placement members = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 5}, {1, 4}};
  const Pattern pattern = plan_ring_all_reduce(cluster, members);
  // GPUs 0-3 have two NICs near, GPUs 4 and 5 of the other machine have one.
  CHECK(pattern.channels == 1);
  check_ring(pattern);
}

TEST_CASE("Ranks dealt out machine by machine ring inside the machines all the same",
          "[collectives]") {
  const Cluster cluster = dgx1v_cluster(2);
  const Pattern pattern = plan_ring_all_reduce(cluster, round_robin_placement(cluster, 8));
  check_ring(pattern);
  // Rank r lives on machine r mod 2: each ring crosses between them twice.
  for (const auto& order : ring_orders(pattern)) {
    int crossings = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] % 2 != order[(i + 1) % order.size()] % 2) ++crossings;
    }
    CHECK(crossings == 2);
  }
}

TEST_CASE("One rank has nothing to reduce", "[collectives]") {
  const Pattern pattern = plan_ring_all_reduce(dgx1v_cluster(1), on_node0({3}));
  CHECK(pattern.ranks == 1);
  CHECK(pattern.channels == 0);
  CHECK(pattern.phases.empty());
  CHECK(share_per_rank(pattern) == 0);
}

TEST_CASE("Ranks that share a GPU and machines without a NIC are refused", "[collectives]") {
  CHECK_THROWS_WITH(plan_ring_all_reduce(dgx1v_cluster(1), on_node0({2, 5, 2})),
                    "two ranks share gpu2 of node0; each needs its own");
  const auto bare = std::make_shared<const NodeGraph>(test::pcie_node(2, 0));
  CHECK_THROWS_WITH(plan_ring_all_reduce(cluster_of({dgx1v(), bare}), {{0, 0}, {1, 0}}),
                    "node1 (pcie) has no NIC, but the job spans 2 machines");
}

TEST_CASE("Equal patterns have equal keys and different ones do not", "[collectives]") {
  const Cluster cluster = dgx1v_cluster(2);
  std::set<std::uint64_t> keys;
  for (const int gpus : {1, 2, 3, 4, 8}) {
    const Placement members = packed_placement(cluster, gpus);
    const Pattern pattern = plan_ring_all_reduce(cluster, members);
    CHECK(pattern.key != 0);
    CHECK(plan_ring_all_reduce(cluster, members).key == pattern.key);
    keys.insert(pattern.key);
  }
  keys.insert(plan_ring_all_reduce(cluster, {{0, 0}, {0, 1}}).key);
  keys.insert(plan_ring_all_reduce(cluster, {{1, 0}, {1, 1}}).key);
  CHECK(keys.size() == 7);
}

}  // namespace gradwire
