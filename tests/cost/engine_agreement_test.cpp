#include "sim/collectives/broadcast.hpp"
#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/cost/nccl_ring.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

/// Seconds until the engine has moved this collective, alone.
double engine_time(const Cluster& cluster, const Pattern& pattern, Bytes size,
                   const CollectiveCost& cost) {
  EngineOptions options;
  options.fidelity = Fidelity::fluid;
  options.reference_solver = true;  // SimGrid would allow only one engine in this program
  const auto engine = make_engine(cluster, std::span(&pattern, 1), options);
  double end = -1;
  engine->at(Seconds{}, [&] { engine->network().start(0, 0, size, cost); });
  engine->run([&](TransferId, Seconds now) { end = now.count(); });
  return end;
}

}  // namespace

TEST_CASE("Alone, the engine takes as long as the model of NCCL's rings says", "[cost][nccl]") {
  const int nodes = GENERATE(1, 2, 4);
  const Cluster cluster = test::dgx1v_cluster(nodes);
  const Placement members = packed_placement(cluster, 8);
  const NcclRing model(cluster, {2, 4});
  for (const Pattern& pattern :
       {plan_ring_all_reduce(cluster, members), plan_broadcast(cluster, members)}) {
    for (const Bytes size : {25_MiB, 256_MiB}) {
      const CollectiveCost cost = model.price(pattern, size);
      INFO(nodes << " nodes, " << pattern.algorithm << ", " << size.count() << " B");
      CHECK(cost.protocol == "simple");
      CHECK(engine_time(cluster, pattern, size, cost) ==
            Approx(model.time_alone(pattern, size).count()).epsilon(1e-9));
    }
  }
}

TEST_CASE("LL's hops take no less than the links under them", "[cost][nccl]") {
  // NCCL counts 0.47 us for a hop over NVLink, this node's links 0.7 us: 14 steps of 0.23 us more.
  const Cluster cluster = test::dgx1v_cluster(1);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const NcclRing model(cluster, {2, 4});
  const Bytes size{1024};
  const CollectiveCost cost = model.price(pattern, size);
  CHECK(cost.protocol == "ll");
  CHECK(engine_time(cluster, pattern, size, cost) ==
        Approx(model.time_alone(pattern, size).count() + 14 * 0.23e-6).epsilon(1e-9));
}

}  // namespace gradwire
