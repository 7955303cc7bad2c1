#include "sim/collectives/planners.hpp"

#include <map>

#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {

TEST_CASE("A hierarchical all-reduce rings inside, across and inside again", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(3);
  const Pattern pattern = plan_hierarchical_all_reduce(cluster, packed_placement(cluster, 8));
  REQUIRE(pattern.phases.size() == 3);
  CHECK(pattern.phases[0].steps == 7);
  CHECK(pattern.phases[1].steps == 2 * 2);
  CHECK(pattern.phases[2].steps == 7);
  CHECK(pattern.channels == 6);  // the rings of a DGX-1V
  const auto groups = [](const Phase& phase) {
    std::map<int, std::vector<PatternFlow>> found;
    for (const PatternFlow& flow : phase.flows) found[flow.group].push_back(flow);
    return found;
  };
  for (const Phase& phase : pattern.phases) {
    CHECK(phase.coupling == Coupling::ring);
    for (const auto& [group, flows] : groups(phase)) {
      for (std::size_t i = 0; i < flows.size(); ++i) {
        CHECK(flows[i].destination == flows[(i + 1) % flows.size()].source);
      }
    }
  }
  CHECK(groups(pattern.phases[0]).size() == 3 * 6);
  // Rank r is GPU r mod 8 of machine r / 8: equal places are 8 apart.
  CHECK(groups(pattern.phases[1]).size() == 8);
  for (const PatternFlow& flow : pattern.phases[0].flows) {
    CHECK(flow.source / 8 == flow.destination / 8);
    CHECK(flow.share == Approx(7.0 / 8 / 6));
  }
  for (const PatternFlow& flow : pattern.phases[1].flows) {
    CHECK((flow.source + 8) % 24 == flow.destination);
    CHECK(flow.share == Approx(2 * 2.0 / 3 / 8));
  }
}

TEST_CASE("Ranks dealt out machine by machine have the same hierarchy", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(2);
  const Pattern pattern = plan_hierarchical_all_reduce(cluster, round_robin_placement(cluster, 4));
  // Rank r is GPU r / 2 of machine r mod 2.
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    CHECK(flow.source % 2 == flow.destination % 2);
  }
  for (const PatternFlow& flow : pattern.phases.at(1).flows) {
    CHECK(flow.source / 2 == flow.destination / 2);
  }
}

TEST_CASE("A hierarchical broadcast goes from rank 0 to a rank a machine, then on",
          "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(3);
  // The root is the third GPU of its machine: the chain across goes over the third of each.
  Placement members = packed_placement(cluster, 4);
  std::swap(members[0], members[2]);
  const Pattern pattern = plan_hierarchical_broadcast(cluster, members);
  REQUIRE(pattern.phases.size() == 2);
  const auto& across = pattern.phases[0].flows;
  REQUIRE(across.size() == 2);
  CHECK(across[0].source == 0);
  CHECK(across[0].destination == 6);
  CHECK(across[1].source == 6);
  CHECK(across[1].destination == 10);
}

TEST_CASE("On one machine or a rank a machine only one level is left", "[collectives]") {
  const Cluster one = test::dgx1v_cluster(1);
  CHECK(plan_hierarchical_all_reduce(one, packed_placement(one, 8)).phases.size() == 2);
  const Cluster many = test::dgx1v_cluster(4);
  CHECK(plan_hierarchical_all_reduce(many, packed_placement(many, 1)).phases.size() == 1);
  CHECK(plan_hierarchical_broadcast(many, packed_placement(many, 1)).phases.size() == 1);
}

TEST_CASE("Unequally filled machines have no hierarchy", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(2);
  CHECK_THROWS_WITH(
      plan_hierarchical_all_reduce(cluster, packed_placement(std::vector<int>{8, 4})),
      "hierarchical needs equally many ranks on each machine, but node0 has 8 and node1 4");
}

TEST_CASE("A torus has the most square grid", "[collectives]") {
  // Three dimensions from 4 x 4 x 4 on, where none would be below 4; else two.
  CHECK(torus_dimensions(12) == std::vector<int>{3, 4});
  CHECK(torus_dimensions(16) == std::vector<int>{4, 4});
  CHECK(torus_dimensions(32) == std::vector<int>{4, 8});
  CHECK(torus_dimensions(64) == std::vector<int>{4, 4, 4});
  CHECK(torus_dimensions(62) == std::vector<int>{2, 31});
  CHECK(torus_dimensions(1024) == std::vector<int>{8, 8, 16});
  CHECK(torus_dimensions(4096) == std::vector<int>{16, 16, 16});
  CHECK(torus_dimensions(13).empty());
}

TEST_CASE("A torus all-reduce rings along each dimension and back", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(3);
  const Pattern pattern = plan_torus_all_reduce(cluster, packed_placement(cluster, 4));
  REQUIRE(pattern.phases.size() == 4);  // 3 x 4
  const auto steps = [&](std::size_t phase) { return pattern.phases[phase].steps; };
  CHECK(std::vector<int>{steps(0), steps(1), steps(2), steps(3)} == std::vector<int>{3, 2, 2, 3});
  // Rank r is at (r / 4, r mod 4): the last dimension first, with 3/4 of the size; then a quarter
  // is left, of which 2/3 are passed on.
  for (const PatternFlow& flow : pattern.phases[0].flows) {
    CHECK(flow.source / 4 == flow.destination / 4);
    CHECK((flow.source + 1) % 4 == flow.destination % 4);
    CHECK(flow.share == Approx(3.0 / 4));
  }
  for (const PatternFlow& flow : pattern.phases[1].flows) {
    CHECK((flow.source + 4) % 12 == flow.destination);
    CHECK(flow.share == Approx(2.0 / 3 / 4));
  }
}

TEST_CASE("A prime number of ranks has no torus", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(1);
  CHECK_THROWS_WITH(plan_torus_all_reduce(cluster, packed_placement(cluster, 7)),
                    "torus needs a number of ranks that has divisors; 7 is prime; use ring");
}

}  // namespace gradwire
