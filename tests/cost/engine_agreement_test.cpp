#include "sim/collectives/broadcast.hpp"
#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/cost/alpha_beta.hpp"
#include "sim/cost/measured_table.hpp"
#include "sim/cost/nccl_ring.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

/// Seconds until the engine has moved this collective, alone or several at the same time.
double engine_time(const Cluster& cluster, const Pattern& pattern, Bytes size,
                   const CollectiveCost& cost, int at_once = 1) {
  EngineOptions options;
  options.fidelity = Fidelity::fluid;
  options.reference_solver = true;  // SimGrid would allow only one engine in this program
  const auto engine = make_engine(cluster, std::span(&pattern, 1), options);
  double end = -1;
  engine->at(Seconds{}, [&] {
    for (int id = 0; id < at_once; ++id) engine->network().start(id, 0, size, cost);
  });
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

TEST_CASE("What a table measured alone takes twice as long beside another on the same links",
          "[cost][table]") {
  // 90 GB/s bus bandwidth measured where the rings have 135: the flows are paced below the links'
  // rate alone, and two of them share the links: 2 * 90 > 135, so both end at 2 * 90 / 135 of the
  // measured time. At the links' full rate it is 2.
  const Cluster cluster = test::dgx1v_cluster(1);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const Bytes size = 256_MiB;
  const double link_rate = 6 * test::lane_rate;
  for (const auto& [bus, slowdown] :
       {std::pair{90e9, 2 * 90e9 / link_rate}, std::pair{link_rate, 2.0}, std::pair{50e9, 1.0}}) {
    const Seconds alone{2 * 7.0 / 8 * static_cast<double>(size.count()) / bus};
    CollectiveTable measured;
    measured.series.push_back({CollectiveKind::all_reduce, 8, 1, {{size, alone, "", ""}}});
    const MeasuredTable table(
        std::move(measured), nullptr,
        std::make_shared<RingLibrary>(nullptr, std::make_shared<AlphaBeta>(Seconds{}, Seconds{})));
    const CollectiveCost cost = table.choose(std::span(&pattern, 1), size).cost;
    CHECK(engine_time(cluster, pattern, size, cost) == Approx(alone.count()).epsilon(1e-6));
    CHECK(engine_time(cluster, pattern, size, cost, 2) ==
          Approx(slowdown * alone.count()).epsilon(1e-3));
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
