#include <memory>
#include <span>
#include <utility>

#include "sim/collectives/planners.hpp"
#include "sim/cost/measured_table.hpp"
#include "sim/cost/user_lines.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

/// Seconds until the engine has moved several of this collective that start together.
double engine_time(const Cluster& cluster, const Pattern& pattern, Bytes size,
                   const CollectiveCost& cost, int at_once) {
  EngineOptions options;
  options.fidelity = Fidelity::fluid;
  options.slack = 0;  // SimGrid would allow only one engine in this program
  const auto engine = make_engine(cluster, std::span(&pattern, 1), options);
  double end = -1;
  engine->at(Seconds{}, [&] {
    for (int id = 0; id < at_once; ++id) engine->network().start(id, 0, size, cost);
  });
  engine->run([&](TransferId, Seconds now) { end = now.count(); });
  return end;
}

}  // namespace

TEST_CASE("What a table measured alone takes up to twice as long beside another on its links",
          "[cost][table]") {
  // The rings give 135 GB/s of bus bandwidth. Alone the flows are paced to what was measured; two
  // share the links, so both end after 2 * measured / 135 of the measured time, where that is more
  // than once: with 90 GB/s 1.33 times, at the links' full rate 2 times, with 50 GB/s 1 time.
  const auto shared = std::make_shared<const Cluster>(test::dgx1v_cluster(1));
  const Cluster& cluster = *shared;
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
        std::make_shared<UserLines>(
            shared, std::vector{UserLine{"ring", std::nullopt, Seconds{}, 1_GBps}}));
    const CollectiveCost cost = table.choose(std::span(&pattern, 1), size).cost;
    INFO(bus << " B/s measured");
    CHECK(engine_time(cluster, pattern, size, cost, 1) == Approx(alone.count()).epsilon(1e-6));
    CHECK(engine_time(cluster, pattern, size, cost, 2) ==
          Approx(slowdown * alone.count()).epsilon(1e-3));
  }
}

}  // namespace gradwire
