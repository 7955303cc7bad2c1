#include "sim/cost/collective_shape.hpp"

#include "sim/collectives/planners.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {

TEST_CASE("A ring's shape is its steps and the share of its busiest link", "[cost][shape]") {
  const Cluster one = test::dgx1v_cluster(1);
  const Pattern pattern = plan_ring_all_reduce(one, packed_placement(one, 8));
  const CollectiveShape shape = shape_of(pattern, one);
  CHECK(shape.hops == HopClass::nvlink);
  CHECK(shape.ranks == 8);
  CHECK(shape.machines == 1);
  CHECK(shape.local_steps == Approx(14));  // 2 (8 - 1)
  CHECK(shape.network_steps == 0);
  // 2 * 7/8 bytes a byte over 6 rings of one lane each.
  CHECK(shape.per_byte.count() == Approx(2 * 7.0 / 8 / (6 * test::lane_rate)));
  CHECK(busiest_link_time(pattern, one) == shape.per_byte);
  CHECK(shape.local_latency.count() == Approx(test::nvlink_latency.count()));
}

TEST_CASE("On several machines a ring's steps divide as NCCL counts them", "[cost][shape]") {
  const Cluster two = test::dgx1v_cluster(2);
  const CollectiveShape shape = shape_of(plan_ring_all_reduce(two, packed_placement(two, 8)), two);
  CHECK(shape.hops == HopClass::network);
  CHECK(shape.network_steps == Approx(2));  // 2 (2 - 1)
  CHECK(shape.local_steps == Approx(28));   // 2 (16 - 1) - 2
  CHECK(shape.network_latency > shape.local_latency);
}

TEST_CASE("A chain's shape is the hops that its last rank waits for", "[cost][shape]") {
  const Cluster one = test::dgx1v_cluster(1);
  CHECK(shape_of(plan_broadcast(one, packed_placement(one, 8)), one).local_steps == 7);
  // From the first to the last of 16 ranks: into the other machine, and back to the ranks of the
  // first that lie before the root on a ring which enters there.
  const Cluster two = test::dgx1v_cluster(2);
  const CollectiveShape shape = shape_of(plan_broadcast(two, packed_placement(two, 8)), two);
  CHECK(shape.network_steps == 2);
  CHECK(shape.network_steps + shape.local_steps == 15);
}

TEST_CASE("A tree's shape is its way up and down, not its number of flows", "[cost][shape]") {
  // Ranks 1 and 2 send to 0, which sends back: two hops for the last byte, over four flows.
  const Cluster one = test::dgx1v_cluster(1);
  Pattern pattern;
  pattern.ranks = 3;
  pattern.machines = 1;
  Phase phase;
  phase.coupling = Coupling::pipeline;
  phase.steps = 16;
  for (const auto& [source, destination] : {std::pair{1, 0}, {2, 0}, {0, 1}, {0, 2}}) {
    PatternFlow flow{.source = source, .destination = destination, .share = 1};
    flow.path_begin = static_cast<std::uint32_t>(pattern.path_links.size());
    one.append_local(0, source, destination, pattern.path_links);
    flow.path_size = static_cast<std::uint32_t>(pattern.path_links.size()) - flow.path_begin;
    phase.flows.push_back(flow);
  }
  pattern.phases.push_back(phase);
  CHECK(shape_of(pattern, one).local_steps == 2);
}

TEST_CASE("Classes of hops have names that lead back to them", "[cost][shape]") {
  for (const HopClass hops : hop_classes) CHECK(hop_class(name_of(hops)) == hops);
  CHECK_FALSE(hop_class("copper"));
}

}  // namespace gradwire
