#include "sim/collectives/planners.hpp"

#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

/// Follows the flows in order: nobody passes on what it does not have, or gets anything twice.
/// @return channel -> ranks that have its bytes in the end
std::map<int, std::set<int>> follow(const Pattern& pattern) {
  std::map<int, std::set<int>> holders;
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    auto& have = holders.try_emplace(flow.group, std::set<int>{0}).first->second;
    CHECK(have.contains(flow.source));
    CHECK(have.insert(flow.destination).second);
  }
  return holders;
}

}  // namespace

TEST_CASE("Broadcast hands every channel's bytes from rank 0 to every rank once", "[collectives]") {
  const int nodes = GENERATE(1, 2, 4);
  const int gpus = GENERATE(2, 4, 8);
  const Cluster cluster = test::dgx1v_cluster(nodes);
  const Placement members = packed_placement(cluster, gpus);
  const Pattern pattern = plan_broadcast(cluster, members);
  REQUIRE(pattern.phases.size() == 1);
  CHECK(pattern.phases[0].coupling == Coupling::pipeline);
  CHECK(pattern.phases[0].steps == chain_pieces);
  const auto holders = follow(pattern);
  CHECK(holders.size() == static_cast<std::size_t>(pattern.channels));
  for (const auto& [channel, have] : holders) CHECK(have.size() == members.size());
}

TEST_CASE("Broadcast brings each rank but the root the whole size", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(2);
  std::map<int, double> received;
  const Pattern pattern = plan_broadcast(cluster, packed_placement(cluster, 8));
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    received[flow.destination] += flow.share;
  }
  CHECK(received.size() == 15);
  CHECK_FALSE(received.contains(0));
  for (const auto& [rank, share] : received) CHECK(share == Approx(1));
}

TEST_CASE("Broadcast's flows pass from rank 0 to each next rank of a channel", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(2);
  std::map<int, int> last;  // channel -> where its chain has come to
  const Pattern pattern = plan_broadcast(cluster, packed_placement(cluster, 8));
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    CHECK(flow.source == last[flow.group]);
    last[flow.group] = flow.destination;
  }
  CHECK(last.size() == 4);
}

TEST_CASE("Broadcast to oneself moves nothing", "[collectives]") {
  const Pattern pattern = plan_broadcast(test::dgx1v_cluster(1), test::on_node0({0}));
  CHECK(pattern.phases.empty());
}

}  // namespace gradwire
