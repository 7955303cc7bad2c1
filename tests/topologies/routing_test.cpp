#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/core/switch_classes.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/machines.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire {
namespace {

using test::machines;
using test::test_trunk;

Fabric two_level(int count, int per_leaf, int spines) {
  FatTreeShape shape;
  shape.machines_per_leaf = per_leaf;
  shape.spines = spines;
  shape.trunk = test_trunk();
  return fat_tree(machines(count, 1), shape);
}

/// Flows on each trunk out of leaf0 when its `hosts` machines send to those of leaf1.
std::map<int, int> uplink_loads(std::uint64_t seed, int hosts, int spines) {
  Fabric fabric = two_level(2 * hosts, hosts, spines);
  fabric.ecmp_seed = seed;
  std::map<int, int> loads;
  for (int host = 0; host < hosts; ++host) ++loads[fabric.route(host, hosts + host).front()];
  return loads;
}

TEST_CASE("hashing a permutation over k spines leaves k (1 - 1/k)^n of them idle",
          "[topology][ecmp]") {
  // n flows that each take one of k spines at random: a spine stays idle with (1 - 1/k)^n.
  constexpr int hosts = 16;
  constexpr int spines = 16;
  constexpr int seeds = 400;
  double idle = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto loads = uplink_loads(seed, hosts, spines);
    int flows = 0;
    for (const auto& [trunk, load] : loads) flows += load;
    REQUIRE(flows == hosts);
    idle += spines - static_cast<double>(loads.size());
  }
  const double share = std::pow(1 - 1.0 / spines, hosts);
  // Standard deviation of the number of idle spines is below that of independent ones,
  // sqrt(k p (1 - p)); of the mean over seeds, that / sqrt(seeds). Four of them.
  const double tolerance = 4 * std::sqrt(spines * share * (1 - share) / seeds);
  CHECK(idle / seeds == Approx(spines * share).margin(tolerance));
}

TEST_CASE("a seed gives the same collisions again, another seed others", "[topology][ecmp]") {
  CHECK(uplink_loads(1, 16, 8) == uplink_loads(1, 16, 8));
  CHECK(uplink_loads(1, 16, 8) != uplink_loads(2, 16, 8));
}

TEST_CASE("spread merges what lies above the leaves into one switch a level",
          "[topology][spread]") {
  const Fabric two = merge_equal_ways(two_level(8, 2, 4));
  REQUIRE(two.graph().vertices().size() == 4 + 1);
  CHECK(two.graph()[4].name == "spine0-3");
  CHECK(two.graph()[4].count == 4);
  const Link& bundle = two.graph()[two.graph().edges().front()];
  CHECK(bundle.lanes == 4);
  CHECK(bundle.bandwidth.count() == 4 * test_trunk().bandwidth.count());

  FatTreeShape shape;
  shape.machines_per_leaf = 2;
  shape.spines = 2;
  shape.leaves_per_pod = 2;
  shape.cores_per_spine = 2;
  shape.trunk = test_trunk();
  const Fabric three = merge_equal_ways(fat_tree(machines(16, 1), shape));
  CHECK(three.graph().vertices().size() == 8 + 4 + 1);  // leaves, pods, cores
  CHECK(three.graph()[three.switch_of(0)].name == "leaf0");
  CHECK(three.route(0, 15).size() == 4);
}

TEST_CASE("switches are alike when all they lead to is alike", "[topology][fabric]") {
  // Leaf 2 has one machine instead of two: a class of its own; every spine sees all three.
  const Fabric fabric = two_level(5, 2, 2);
  std::vector<int> ports(fabric.graph().vertices().size(), 0);
  for (int port = 0; port < fabric.port_count(); ++port) ++ports[fabric.switch_of(port)];
  CHECK(switch_classes(fabric, ports) == std::vector<int>{0, 0, 1, 2, 2});
  // A path: its ends, and the switch in the middle.
  Fabric path;
  for (const char* name : {"a", "b", "c"}) path.add_switch(name);
  path.connect(0, 1, test_trunk());
  path.connect(1, 2, test_trunk());
  CHECK(switch_classes(path, {0, 0, 0}) == std::vector<int>{0, 1, 0});
}

/// Seconds of a ring all-reduce of 1 GB, one rank a machine, in this order of machines.
double all_reduce_time(Fabric fabric, const std::vector<int>& order) {
  const auto node = test::gpus_with_nics(1);
  const Cluster cluster(std::vector(order.size(), node), std::move(fabric));
  Placement placement;
  for (const int machine : order) placement.push_back({machine, 0});
  const Pattern pattern = plan_ring_all_reduce(cluster, placement);
  const auto engine = make_engine(cluster, {&pattern, 1}, {});
  engine->at(Seconds{0},
             [&] { engine->network().start(0, 0, Bytes{1'000'000'000}, CollectiveCost{}); });
  double end = 0;
  engine->run([&](TransferId /*id*/, Seconds now) { end = now.count(); });
  return end;
}

TEST_CASE(
    "a ring over an r:1 oversubscribed fat tree is r times slower when every hop leaves its "
    "leaf, and not slower when ranks are packed",
    "[topology][fat_tree][oracle]") {
  // r machines on each of 4 leaves, one uplink of a port's speed. Packed: one flow out of a leaf,
  // 2 (n-1)/n x 1 GB at 1 GB/s. In turn: r flows out of each leaf share the uplink.
  const int over = GENERATE(2, 4);
  constexpr int leaves = 4;
  const int ranks = leaves * over;
  std::vector<int> packed(static_cast<std::size_t>(ranks));
  std::iota(packed.begin(), packed.end(), 0);
  std::vector<int> in_turn;
  for (int i = 0; i < over; ++i) {
    for (int leaf = 0; leaf < leaves; ++leaf) in_turn.push_back(leaf * over + i);
  }
  const double at_port_speed = 2.0 * (ranks - 1) / ranks;
  // The PCIe links' latency of 0.1 us each: under 1e-4 of the seconds.
  CHECK(all_reduce_time(two_level(ranks, over, 1), packed) == Approx(at_port_speed).epsilon(1e-4));
  CHECK(all_reduce_time(two_level(ranks, over, 1), in_turn) ==
        Approx(over * at_port_speed).epsilon(1e-4));
}

TEST_CASE("spread over as many spines as ports never blocks, hashing does",
          "[topology][ecmp][spread][oracle]") {
  // 4 machines on each of 4 leaves, 4 spines; every hop of the ring leaves its leaf.
  std::vector<int> in_turn;
  for (int i = 0; i < 4; ++i) {
    for (int leaf = 0; leaf < 4; ++leaf) in_turn.push_back(leaf * 4 + i);
  }
  const double at_port_speed = 2.0 * 15 / 16;
  CHECK(all_reduce_time(merge_equal_ways(two_level(16, 4, 4)), in_turn) ==
        Approx(at_port_speed).epsilon(1e-4));
  // The ring runs at its slowest hop: at 1/m of the port where m flows meet on a trunk.
  Fabric hashed = two_level(16, 4, 4);
  std::map<int, int> loads;
  int most = 0;
  for (std::size_t i = 0; i < in_turn.size(); ++i) {
    for (const int trunk : hashed.route(in_turn[i], in_turn[(i + 1) % in_turn.size()])) {
      most = std::max(most, ++loads[trunk]);
    }
  }
  REQUIRE(most > 1);
  CHECK(all_reduce_time(std::move(hashed), in_turn) == Approx(most * at_port_speed).epsilon(1e-4));
}

}  // namespace
}  // namespace gradwire
