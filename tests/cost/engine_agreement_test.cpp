#include <memory>

#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/cost/measured_table.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/cost/engine_time.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

/// Costs nothing beside the bytes.
class Free final : public CostModel {
 public:
  [[nodiscard]] CollectiveCost price(const Pattern& /*pattern*/, Bytes /*size*/) const override {
    return {};
  }
};

}  // namespace

TEST_CASE("Alone, the engine takes as long as NCCL's model says", "[cost][nccl]") {
  const int nodes = GENERATE(1, 2, 4);
  const auto cluster = std::make_shared<const Cluster>(test::dgx1v_cluster(nodes));
  const Placement members = packed_placement(*cluster, 8);
  NcclOptions options;
  options.gpus[""] = {70, 900_GBps};
  const NcclLibrary library(cluster, options);
  for (const CollectiveKind kind : collective_kinds()) {
    const std::vector<Pattern> patterns = library.plan(kind, members);
    for (const Bytes size : {Bytes{1024}, 1_MiB, 256_MiB}) {
      const CollectiveChoice choice = library.choose(patterns, size);
      INFO(nodes << " nodes, " << name_of(kind) << " by " << choice.cost.algorithm << "/"
                 << choice.cost.protocol << ", " << size.count() << " B");
      CHECK(test::engine_time(*cluster, patterns[choice.pattern], size, choice.cost) ==
            Approx(choice.cost.alone.value().count()).epsilon(1e-9));
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
    const MeasuredTable table(std::move(measured), nullptr,
                              std::make_shared<RingLibrary>(nullptr, std::make_shared<Free>()));
    const CollectiveCost cost = table.choose(std::span(&pattern, 1), size).cost;
    CHECK(test::engine_time(cluster, pattern, size, cost) == Approx(alone.count()).epsilon(1e-6));
    CHECK(test::engine_time(cluster, pattern, size, cost, Fidelity::fluid, 2) ==
          Approx(slowdown * alone.count()).epsilon(1e-3));
  }
}

}  // namespace gradwire
