#include "sim/collectives/broadcast.hpp"

#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {

TEST_CASE("Broadcast hands every channel's bytes from rank 0 to every rank once", "[collectives]") {
  const int nodes = GENERATE(1, 2, 4);
  const int gpus = GENERATE(2, 4, 8);
  const Cluster cluster = test::dgx1v_cluster(nodes);
  const Placement members = packed_placement(cluster, gpus);
  const Pattern pattern = plan_broadcast(cluster, members);
  REQUIRE(pattern.phases.size() == 1);
  CHECK(pattern.phases[0].coupling == Coupling::chain);
  CHECK(pattern.phases[0].steps == chain_pieces);

  std::map<int, std::set<int>> holders;  // channel -> ranks that have its bytes
  std::map<int, double> received;
  for (const PatternFlow& flow : pattern.phases[0].flows) {
    auto& have = holders.try_emplace(flow.group, std::set<int>{0}).first->second;
    CHECK(have.count(flow.source) == 1);  // passes on only what it has
    CHECK(have.insert(flow.destination).second);
    received[flow.destination] += flow.share;
  }
  CHECK(holders.size() == static_cast<std::size_t>(pattern.channels));
  for (const auto& [channel, have] : holders) CHECK(have.size() == members.size());
  CHECK(received.count(0) == 0);
  for (const auto& [rank, share] : received) CHECK(share == Approx(1));
}

TEST_CASE("Broadcast's chains are listed whole, root first", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(2);
  for (const auto& order : ring_orders(plan_broadcast(cluster, packed_placement(cluster, 8)))) {
    CHECK(order.front() == 0);
    CHECK(std::set<int>(order.begin(), order.end()).size() == 16);
    CHECK(order.size() == 16);
  }
}

TEST_CASE("Broadcast to oneself moves nothing", "[collectives]") {
  const Pattern pattern = plan_broadcast(test::dgx1v_cluster(1), test::on_node0({0}));
  CHECK(pattern.phases.empty());
  CHECK(ring_orders(pattern).empty());
}

}  // namespace gradwire
