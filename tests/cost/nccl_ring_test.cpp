#include "sim/cost/nccl_ring.hpp"

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "sim/collectives/broadcast.hpp"
#include "sim/collectives/ring_all_reduce.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units
using test::cluster_of;
using test::dgx1v_cluster;
using test::on_node0;
using test::pcie_node;

constexpr NcclVersion v2_4{2, 4};
constexpr double us = 1e-6;

}  // namespace

TEST_CASE("Small all-reduces take LL, medium ones LL128, large ones Simple", "[cost][nccl]") {
  const int nodes = GENERATE(1, 2);
  const Cluster cluster = dgx1v_cluster(nodes);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const auto protocols_in_order = [&](NcclVersion version) {
    const NcclRing model(cluster, version);
    std::vector<std::string> seen;
    for (std::int64_t size = 1024; size <= 1 << 30; size *= 2) {
      const std::string protocol = model.price(pattern, Bytes{size}).protocol;
      if (seen.empty() || seen.back() != protocol) seen.push_back(protocol);
    }
    return seen;
  };
  CHECK(protocols_in_order({2, 8}) == std::vector<std::string>{"ll", "ll128", "simple"});
  CHECK(protocols_in_order(v2_4) == std::vector<std::string>{"ll", "simple"});
}

TEST_CASE("An all-reduce inside a DGX-1V costs base, hops and bytes", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(1);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const NcclRing model(cluster, v2_4);

  // LL, 1 KiB: launch 10 + base 3.6 + 14 hops of 0.47 us; bytes at a quarter of the rings' rate: 6
  // rings of 22.5 GB/s carry 14/8 of the size.
  const double per_byte = 14.0 / 8 / (6 * 22.5e9);
  CHECK(model.time_alone(pattern, Bytes{1024}).count() ==
        Approx(10 * us + 3.6 * us + 14 * 0.47 * us + 4 * 1024 * per_byte));

  // Simple, 256 MiB: launch 10 + base 8.4 + 14 hops of 3.4 us.
  const Bytes large = 256_MiB;
  CHECK(model.time_alone(pattern, large).count() ==
        Approx(18.4 * us + 14 * 3.4 * us + static_cast<double>(large.count()) * per_byte));

  // The engine adds 0.7 us of NVLink to each hop; LL's 0.47 us are less than that.
  const CollectiveCost simple = model.price(pattern, large);
  CHECK(simple.startup.count() == Approx(18.4 * us));
  CHECK(simple.hop_nvlink.count() == Approx(2.7 * us));
  CHECK(simple.efficiency == 1);
  CHECK(simple.source == "model");
  CHECK_FALSE(simple.alone.has_value());
  const CollectiveCost ll = model.price(pattern, Bytes{1024});
  CHECK(ll.hop_nvlink == Seconds{});
  CHECK(ll.efficiency == 0.25);
}

TEST_CASE("Between machines a ring's network hops are spread over its steps", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(2);
  const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const NcclRing model(cluster, v2_4);

  // LL on 16 ranks and 2 machines: 28 local hops of 1.8 * 0.47 us, 2 network hops of 2.7 us. The
  // busiest link is PCIe (12 GB/s) with 1/4 of 30/16 of the size.
  const double per_byte = 30.0 / 16 / 4 / 12e9;
  CHECK(model.time_alone(pattern, Bytes{1024}).count() ==
        Approx((13.6 + 28 * 1.8 * 0.47 + 2 * 2.7) * us + 4 * 1024 * per_byte));

  // Simple from 16 * 4 KiB on is past the plateau: all but the launch times 1.9.
  const double latency = (10 + 1.9 * (8.4 + 28 * 3.4 + 2 * 9.6)) * us;
  CHECK(model.time_alone(pattern, 256_MiB).count() == Approx(latency + 256 * 1048576 * per_byte));
  const CollectiveCost cost = model.price(pattern, 256_MiB);
  // What the engine charges: 30 steps of the slowest hop, its links (4 x 0.3 + 2 x 0.5 us) in it.
  CHECK(cost.startup.count() + 30 * (cost.hop_network.count() + 2.2 * us) == Approx(latency));
}

TEST_CASE("A broadcast counts a hop a rank", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(1);
  const Pattern pattern = plan_broadcast(cluster, packed_placement(cluster, 8));
  const NcclRing model(cluster, v2_4);
  // LL in one machine at a third of the rings' rate: 10 + 3.6 + 8 * 0.47 us.
  CHECK(model.time_alone(pattern, Bytes{1024}).count() ==
        Approx((13.6 + 8 * 0.47) * us + 3 * 1024 / (6 * 22.5e9)));
  // Simple: 10 + 8.4 + 8 * 28 us.
  CHECK(model.time_alone(pattern, 256_MiB).count() ==
        Approx((18.4 + 8 * 28) * us + 256 * 1048576 / (6 * 22.5e9)));
  CHECK(model.price(pattern, 256_MiB).alone == model.time_alone(pattern, 256_MiB));
}

TEST_CASE("LL128 is capped a channel and refused over PCIe", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(1);
  const NcclRing model(cluster, {2, 8});
  // 6 rings of 16.7 GB/s of 6 * 22.5: 0.742 is less than 0.92.
  const Pattern eight = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const CollectiveCost cost = model.price(eight, 1_MiB);
  CHECK(cost.protocol == "ll128");
  CHECK(cost.efficiency == Approx(16.7 / 22.5));

  // No NVLink at all; where a ring has none of its own, NVLink through another GPU serves it.
  const Cluster without = cluster_of({std::make_shared<const NodeGraph>(pcie_node(4, 1))});
  const NcclRing slow(without, {2, 8});
  const Pattern over_pcie = plan_ring_all_reduce(without, packed_placement(without, 4));
  for (std::int64_t size = 1024; size <= 1 << 30; size *= 2) {
    CHECK(slow.price(over_pcie, Bytes{size}).protocol != "ll128");
  }
}

TEST_CASE("One rank launches nothing", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(1);
  const Pattern alone = plan_ring_all_reduce(cluster, on_node0({0}));
  const NcclRing model(cluster);
  CHECK(model.time_alone(alone, 1_MiB) == Seconds{});
  CHECK(model.price(alone, 1_MiB).startup == Seconds{});
}

TEST_CASE("Prices do not depend on what was asked before", "[cost][nccl]") {
  const Cluster cluster = dgx1v_cluster(2);
  const NcclRing fresh(cluster);
  const NcclRing used(cluster);
  Pattern one = plan_ring_all_reduce(cluster, on_node0({0, 1}));
  const Pattern two = plan_ring_all_reduce(cluster, packed_placement(cluster, 8));
  const Seconds before = used.time_alone(two, 1_MiB);
  static_cast<void>(used.time_alone(one, 1_MiB));
  CHECK(used.time_alone(two, 1_MiB) == before);
  one.key = 0;  // not sealed: examined each time
  CHECK(used.time_alone(one, 1_MiB) ==
        fresh.time_alone(plan_ring_all_reduce(cluster, on_node0({0, 1})), 1_MiB));
}

}  // namespace gradwire
