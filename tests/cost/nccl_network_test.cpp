#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/fabric.hpp"
#include "sim/cost/nccl_speeds.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/nccl_options.hpp"
#include "topologies/links.hpp"

// What NCCL's times owe to the network, and what it knows of it when it chooses.

namespace gradwire {
namespace {

using namespace test;
using namespace literals;  // NOLINT(google-build-using-namespace): our own units

/// Of a machine whose network alone takes time.
const NcclGpu host_gpu{70, BytesPerSecond{}};

CollectiveCost cost_of(const NcclLibrary& library, const Placement& ranks, Bytes size,
                       CollectiveKind kind = CollectiveKind::all_reduce) {
  return library.choose(library.plan(kind, ranks), size).cost;
}

Seconds alone(const NcclLibrary& library, const Placement& ranks, Bytes size) {
  return cost_of(library, ranks, size).uncontended.value();
}

}  // namespace

TEST_CASE("LL between machines goes as fast as a proxy looks at its flags", "[cost][nccl]") {
  // An all-reduce of two ranks sends its size once; with flags the port would take it at 6 GB/s.
  const auto cluster = test::host_cluster(2, PortSpec{"ib", "ib", 12_GBps, 1_us});
  NcclOptions wanted = nccl_options({2, 28}, host_gpu);
  wanted.algorithms = {NcclAlgorithm::ring};
  wanted.protocols = {NcclProtocol::ll};
  const NcclLibrary library(cluster, wanted);
  const Placement ranks = packed_placement(*cluster, 1);
  const Seconds more = alone(library, ranks, 2_MiB) - alone(library, ranks, 1_MiB);
  CHECK(more.count() / 1048576.0 == Approx(1 / nccl_2_28().measured.ll_proxy.count()));
}

TEST_CASE("A lone GPU's thread sends and receives by turns, unless it has several connections",
          "[cost][nccl]") {
  // 100 Gbit/s of which one connection fills a quarter. An all-reduce of two ranks sends and
  // receives its size once.
  PortSpec port{"eth", "tcp", 12_GBps, 10_us};
  port.connection_bandwidth = 3_GBps;
  const auto a_byte = [&](NcclVersion version) {
    const auto cluster = test::host_cluster(2, port);
    NcclOptions wanted = nccl_options(version, host_gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::simple};
    const NcclLibrary library(cluster, wanted);
    const Placement ranks = packed_placement(*cluster, 1);
    const Seconds more = alone(library, ranks, 1024_MiB) - alone(library, ranks, 512_MiB);
    return more.count() / (512 * 1048576.0);
  };
  CHECK(a_byte({2, 10}) == Approx(2 / 3e9));
  CHECK(a_byte({2, 5}) == Approx(1 / 3e9));  // each connection had a thread
  port.connections = 2;
  CHECK(a_byte({2, 10}) == Approx(1 / 6e9));
}

TEST_CASE("NCCL opens several connections to a peer from 2.4.8 on", "[cost][nccl]") {
  PortSpec port{"ena", "tcp", 12_GBps, 10_us};
  port.connection_bandwidth = 1_GBps;
  port.connections = 4;
  const auto cluster = test::host_cluster(2, port);
  const auto a_byte = [&](NcclVersion version) {
    const NcclLibrary library(cluster, nccl_options(version, host_gpu));
    const auto ranks = packed_placement(*cluster, 1);
    const Seconds more = alone(library, ranks, 1024_MiB) - alone(library, ranks, 512_MiB);
    return more.count() / (512 * 1048576.0);
  };
  // A ring of two ranks sends the size once.
  CHECK(a_byte({2, 4}) == Approx(1 / 1e9));
  CHECK(a_byte({2, 4, 7}) == Approx(1 / 1e9));
  CHECK(a_byte({2, 4, 8}) == Approx(1 / 4e9));
  CHECK(a_byte({2, 5}) == Approx(1 / 4e9));
}

TEST_CASE("Over two machines a tree sends the size once, by lines of 128 bytes as by chunks",
          "[cost][nccl]") {
  // Two machines of two V100 on NVLink, of which the port is the slowest part. Each of two trees
  // moves half the size, up through one machine's port and down through the other's.
  const auto node = far_gpu_node(true);
  Fabric fabric;
  fabric.port = PortSpec{"ib", "ib", 1_GBps, 1_us};
  const auto network = fabric.add_switch("switch");
  for (int machine = 0; machine < 2; ++machine) fabric.attach(network);
  const auto cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>{node, node}, std::move(fabric));
  const auto a_byte = [&](NcclProtocol protocol) {
    NcclOptions wanted = nccl_options({2, 18}, host_gpu);
    wanted.algorithms = {NcclAlgorithm::tree};
    wanted.protocols = {protocol};
    wanted.forces_ll128 = true;
    const NcclLibrary library(cluster, wanted);
    const auto ranks = packed_placement(*cluster, 2);
    const Seconds more = alone(library, ranks, 1024_MiB) - alone(library, ranks, 512_MiB);
    return more.count() / (512 * 1048576.0);
  };
  // Beside the port's time NCCL counts 0.92 of the bus for trees and, of 128 bytes, 120 for lines
  // (v2.18, src/graph/tuning.cc).
  CHECK(a_byte(NcclProtocol::ll128) == Approx(1 / (0.92 * 120 / 128) / 1e9));
  CHECK(a_byte(NcclProtocol::simple) == Approx(1 / 0.92 / 1e9));
}

TEST_CASE("Before 2.5 one ring takes a port, and in 2.4 two where the GPUs have NVLink",
          "[cost][nccl]") {
  // The rings of two machines of two GPUs send, of each byte, 2 * 3 / 4 through a port.
  constexpr double sent = 2.0 * 3 / 4;
  PortSpec port{"eth", "tcp", 10_GBps, 10_us};
  const auto a_byte = [&](NcclVersion version, bool nvlinked) {
    const auto node = far_gpu_node(nvlinked);
    Fabric fabric;
    fabric.port = port;
    const auto network = fabric.add_switch("switch");
    for (int machine = 0; machine < 2; ++machine) fabric.attach(network);
    const auto cluster = std::make_shared<const Cluster>(
        std::vector<std::shared_ptr<const NodeGraph>>{node, node}, std::move(fabric));
    NcclOptions wanted = nccl_options(version, host_gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::simple};
    const NcclLibrary library(cluster, wanted);
    const auto ranks = packed_placement(*cluster, 2);
    const Seconds more = alone(library, ranks, 1024_MiB) - alone(library, ranks, 512_MiB);
    return more.count() / (512 * 1048576.0);
  };
  port.connection_bandwidth = BytesPerSecond{0.5e9};
  CHECK(a_byte({2, 3}, true) == Approx(sent / 0.5e9));
  CHECK(a_byte({2, 4}, true) == Approx(sent / 1e9));
  CHECK(a_byte({2, 4}, false) == Approx(sent / 0.5e9));
  // Where a connection carries all, 2.4's one thread does not (NVIDIA/nccl issue 209).
  port.connection_bandwidth = 10_GBps;
  CHECK(a_byte({2, 4}, true) == Approx(sent / 1.85e9));
  CHECK(a_byte({2, 3}, true) < sent / 1.85e9);
  CHECK(a_byte({2, 4, 8}, true) < sent / 1.85e9);
  port.kind = "ib";
  CHECK(a_byte({2, 4}, true) < sent / 1.85e9);
}

TEST_CASE("No collective takes longer over a faster Ethernet port", "[cost][nccl]") {
  const auto seconds = [](const std::string& port, Bytes size) {
    const auto cluster = test::host_cluster(2, config::shipped_links().find_port(port)->port);
    const NcclLibrary library(cluster, nccl_options({2, 28}, host_gpu));
    return alone(library, packed_placement(*cluster, 1), size);
  };
  const std::vector<std::string> ports = {"eth_1g", "eth_10g", "eth_25g", "eth_40g", "eth_100g"};
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
    const Bytes size{bytes};
    for (std::size_t i = 1; i < ports.size(); ++i) {
      INFO(ports[i] << ", " << bytes << " B");
      CHECK(seconds(ports[i], size) <= seconds(ports[i - 1], size));
    }
  }
}

TEST_CASE("Over sockets a message waits for its length, which goes ahead", "[cost][nccl]") {
  const auto time = [](Seconds port_latency, Seconds kernel) {
    PortSpec port{"eth", "tcp", 1_GBps, port_latency};
    port.message_overhead = kernel;
    const auto cluster = test::host_cluster(8, port);
    NcclOptions wanted = nccl_options({2, 4}, host_gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::ll};
    return alone(NcclLibrary(cluster, wanted), packed_placement(*cluster, 1), Bytes{1024}).count();
  };
  // 2 * 7 hops of a ring; the kernels at both ends of each carry two messages, not one. Who merely
  // has a longer cable does not pay twice.
  const double hops = 14;
  CHECK(time(1_us, 9_us) - time(10_us, Seconds{}) == Approx(hops * 2 * 9e-6));
  CHECK(time(10_us, Seconds{}) - time(1_us, Seconds{}) == Approx(hops * 2 * 9e-6));
}

TEST_CASE("NCCL plans with the latency that EFA's plug-in states, from 2.12 on", "[cost][nccl]") {
  const auto cost = [](NcclVersion version) {
    const auto cluster = test::host_cluster(2, {"efa", "efa", 12_GBps, 12_us});
    NcclOptions wanted = nccl_options(version, host_gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::ll};
    const NcclLibrary library(cluster, wanted);
    const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
    return library.choose(patterns, Bytes{0}).cost;
  };
  // A ring of two lone GPUs: its base and two hops, of 5 us, a tree's, and the latency: 75 us, or 2
  // x 12 us less the 1 us that the hop holds already. 2.10 counts a ring's hop, and no latency.
  CHECK(cost({2, 28}).planned.value().count() == Approx((6.6 + 2 * (5.0 + 75)) * 1e-6));
  CHECK(cost({2, 28}).uncontended.value().count() == Approx((6.6 + 2 * (5.0 + 23)) * 1e-6));
  CHECK(cost({2, 10}).planned.value().count() == Approx((3.6 + 2 * 2.7) * 1e-6));
}

// NVIDIA, Doubling all2all performance with NCCL 2.12 (2022): PXN came with that release.
TEST_CASE("GPUs relay to a NIC from NCCL 2.12 on", "[cost][nccl]") {
  const auto node = test::far_gpu_node(true);
  const auto cluster = std::make_shared<const Cluster>(test::cluster_of({node, node}));
  const Placement ranks = packed_placement(*cluster, 2);
  Cluster without = *cluster;
  without.set_gpus_relay(false);
  const auto links = [&](const Cluster& used) {
    return plan_ring_all_reduce(used, ranks).path_links;
  };
  REQUIRE(links(*cluster) != links(without));
  using Case = std::pair<int, const Cluster*>;
  for (const auto& [minor, used] : {Case{11, &without}, Case{12, cluster.get()}}) {
    NcclOptions options = nccl_options({2, minor}, v100);
    options.algorithms = {NcclAlgorithm::ring};
    const auto patterns = NcclLibrary(cluster, options).plan(CollectiveKind::all_reduce, ranks);
    REQUIRE(patterns.size() == 1);
    CHECK(patterns.front().path_links == links(*used));
  }
}

TEST_CASE("NCCL plans with a port's speed, whatever one connection carries", "[cost][nccl]") {
  PortSpec port{"eth", "tcp", 12_GBps, 10_us};
  const auto choose = [&](Bytes size) {
    const auto cluster = test::host_cluster(4, port);
    const NcclLibrary library(cluster, nccl_options({2, 10}, host_gpu));
    const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
    return library.choose(patterns, size).cost;
  };
  for (const Bytes size : {Bytes{65536}, 1_MiB, 64_MiB, 1024_MiB}) {
    CAPTURE(size.count());
    port.connection_bandwidth.reset();
    const CollectiveCost wide = choose(size);
    port.connection_bandwidth = 1_GBps;
    const CollectiveCost narrow = choose(size);
    CHECK(narrow.algorithm == wide.algorithm);
    CHECK(narrow.protocol == wide.protocol);
    CHECK(narrow.planned.value().count() == wide.planned.value().count());
    CHECK(narrow.uncontended.value() > wide.uncontended.value());
  }
}

TEST_CASE("A ring's parts pass twice between each two machines, whatever NCCL counts",
          "[cost][nccl]") {
  const auto cost = [](NcclVersion version, int gpus) {
    const auto cluster = dgx1v(2);
    NcclOptions wanted = nccl_options(version, v100);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::ll};
    const NcclLibrary library(cluster, wanted);
    const auto patterns =
        library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, gpus));
    return library.choose(patterns, Bytes{0}).cost;
  };
  // LL's base and hops are the same in both; 2.10 counts 2 (2 - 1) of 30 hops between the machines,
  // 2.12 2 x 2. A lone GPU of each machine begins next to a link on both sides: 2 hops in all, of
  // 5.0 us ("fully exposed", as later versions count).
  CHECK(cost({2, 10}, 8).uncontended == cost({2, 12}, 8).planned);
  CHECK(cost({2, 10}, 8).planned.value() < cost({2, 12}, 8).planned.value());
  CHECK(cost({2, 12}, 1).uncontended.value().count() == Approx((3.6 + 2 * 5.0) * 1e-6));
}

TEST_CASE("A long Simple ring hides the network's hops behind its bytes", "[cost][nccl]") {
  const auto time = [&](double port_latency, Bytes size) {
    const auto cluster = test::host_cluster(4, {"ib", "ib", 10_GBps, Seconds{port_latency}});
    NcclOptions wanted = nccl_options({2, 20}, host_gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::simple};
    return alone(NcclLibrary(cluster, wanted), packed_placement(*cluster, 1), size).count();
  };
  // Two ports of 10 us more: at 64 KiB in each of 2 * (4 - 1) hops, times 1.9 (NCCL's plateau
  // before Ampere). At 1 GiB a step takes 27 ms, and nothing is left of them.
  CHECK(time(11e-6, 1024_MiB) == Approx(time(1e-6, 1024_MiB)));
  CHECK(time(11e-6, Bytes{65536}) - time(1e-6, Bytes{65536}) ==
        Approx(6 * 1.9 * 20e-6).epsilon(0.01));
}

TEST_CASE("Where no plug-in states a latency NCCL plans with none", "[cost][nccl]") {
  for (const char* kind : {"tcp", "ib"}) {
    const auto planned = [&](Seconds latency) {
      const auto cluster = test::host_cluster(4, {"port", kind, 1_GBps, latency});
      const NcclLibrary library(cluster, nccl_options({2, 28}, host_gpu));
      return cost_of(library, packed_placement(*cluster, 1), Bytes{262144}).planned.value();
    };
    CHECK(planned(50_us) == planned(1_us));
  }
}

TEST_CASE("Every round of a tree and of a PAT waits for the network", "[cost][nccl]") {
  const auto more = [](int machines, CollectiveKind kind, NcclAlgorithm algorithm) {
    const auto time = [&](Seconds latency) {
      const auto cluster = test::host_cluster(machines, {"ib", "ib", 10_GBps, latency});
      NcclOptions wanted = nccl_options({2, 28}, host_gpu);
      wanted.algorithms = {algorithm};
      wanted.protocols = {NcclProtocol::ll, NcclProtocol::simple};
      const NcclLibrary library(cluster, wanted);
      return cost_of(library, packed_placement(*cluster, 1), Bytes{1024}, kind).uncontended.value();
    };
    return (time(1001_us) - time(1_us)).count() / 2e-3;  // latencies of two ports each
  };
  // ceil(log2 n) levels, up and down; as many rounds.
  for (const auto& [machines, levels] : {std::pair{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}}) {
    CAPTURE(machines);
    CHECK(more(machines, CollectiveKind::all_reduce, NcclAlgorithm::tree) == Approx(2 * levels));
    CHECK(more(machines, CollectiveKind::all_gather, NcclAlgorithm::pat) == Approx(levels));
  }
}

TEST_CASE("NCCL plans as many slow channels as a port holds", "[cost][nccl]") {
  const auto planned = [](double nominal) { return nccl_planned_speed(nominal, 1, 70, true); };
  CHECK(planned(12.5) == 12);
  CHECK(planned(1.25) == 1.2);
  CHECK(planned(0.9) == Approx(7 * 0.12));
  CHECK(planned(0.625) == Approx(5 * 0.12));
  CHECK(planned(0.5) == Approx(2 * 0.24));
  CHECK(planned(0.1) == 0.1);  // below all that it tries
}

}  // namespace gradwire
