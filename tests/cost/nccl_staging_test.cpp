#include "sim/cost/nccl_staging.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/cost/nccl_facts.hpp"
#include "tests/catch.hpp"
#include "tests/cost/nccl_options.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/links.hpp"

// What host memory costs GPUs that do not reach each other, and ports that do not reach them.

namespace gradwire {
namespace {

using namespace test;
using namespace literals;  // NOLINT(google-build-using-namespace): our own units

constexpr NcclGpu gpu{75, BytesPerSecond{}};

NodeGraph shipped(const std::string& name) {
  return config::read_node(
      config::load_yaml((source_dir() / "topologies" / "nodes" / (name + ".yaml")).string()));
}

std::shared_ptr<const Cluster> machines(NodeGraph node, int count, const std::string& link,
                                        bool gpudirect = true) {
  const int nics = static_cast<int>(node.nics().size());
  PortSpec port = config::shipped_links().find_port(link)->port;
  port.gpudirect = gpudirect;
  const auto shared = std::make_shared<const NodeGraph>(std::move(node));
  return std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(count), shared),
      single_switch(count * nics, port));
}

double seconds(const std::shared_ptr<const Cluster>& cluster, CollectiveKind kind, Bytes size) {
  const NcclLibrary library(cluster, nccl_options({2, 18}, gpu));
  const auto gpus = static_cast<int>(cluster->node(0).gpus().size());
  const auto pattern = library.plan(kind, packed_placement(*cluster, gpus));
  return library.choose(pattern, size).cost.uncontended.value().count();
}

/// GB/s, as nccl-tests tells it.
double bus(const std::shared_ptr<const Cluster>& cluster, CollectiveKind kind) {
  const Bytes size = 256_MiB;
  const int ranks = cluster->node_count() * static_cast<int>(cluster->node(0).gpus().size());
  return bus_factor(kind, ranks) * static_cast<double>(size.count()) /
         seconds(cluster, kind, size) / 1e9;
}

std::shared_ptr<const Cluster> alone(NodeGraph node, PeerToPeer peers) {
  node.peer_to_peer = peers;
  return machines(std::move(node), 1, "eth_10g");
}

/// Two RTX 2080 Ti below one PCIe switch.
NodeGraph pair_below_a_switch() {
  NodeGraph node;
  const DeviceId numa = node.add({.kind = DeviceKind::numa});
  const DeviceId bridge = node.add({.kind = DeviceKind::host_bridge});
  const DeviceId hub = node.add({.kind = DeviceKind::pcie_switch});
  const Link slot{LinkKind::pcie, 12_GBps, Seconds{0.15e-6}};
  node.connect(bridge, numa, slot);
  node.connect(hub, bridge, slot);
  for (int i = 0; i < 2; ++i) node.connect(node.add({.kind = DeviceKind::gpu}), hub, slot);
  return node;
}

/// Two GPUs, each below a bridge of its own.
NodeGraph pair_below_bridges(const char* processor) {
  NodeGraph node;
  const DeviceId numa = node.add({.kind = DeviceKind::numa, .model = processor});
  const Link slot{LinkKind::pcie, 12_GBps, Seconds{0.15e-6}};
  for (int i = 0; i < 2; ++i) {
    const DeviceId bridge = node.add({.kind = DeviceKind::host_bridge});
    node.connect(bridge, numa, slot);
    node.connect(node.add({.kind = DeviceKind::gpu}), bridge, slot);
  }
  return node;
}

}  // namespace

TEST_CASE("Two RTX 2080 Ti below a switch all-reduce as published", "[cost][nccl][staging]") {
  // Anthony-Hoo.github.io, posts/AutoDL_Multi-GPU_Interconnection_Test.md: 4.00 GB/s.
  const auto pair = alone(pair_below_a_switch(), PeerToPeer::none);
  CHECK(bus(pair, CollectiveKind::all_reduce) == Approx(4.0).epsilon(0.03));
}

TEST_CASE("GPUs without peer access ring at what their host carries, a third of a link unless told",
          "[cost][nccl][staging]") {
  // Two on links of their own: 3.9 GB/s of 12 (NVIDIA/nccl issue 384), and what is stated.
  NodeGraph node = pair_below_bridges("skylake");
  CHECK(bus(alone(node, PeerToPeer::none), CollectiveKind::all_reduce) ==
        Approx(3.9).epsilon(0.03));
  node.staged_bandwidth = BytesPerSecond{2.5e9};
  CHECK(bus(alone(node, PeerToPeer::none), CollectiveKind::all_reduce) ==
        Approx(2.5).epsilon(0.03));
  NodeGraph wide = pair_below_bridges("amd");
  wide.staged_bandwidth = 10_GBps;  // of each link on the way, beyond what they share else
  CHECK(bus(alone(wide, PeerToPeer::none), CollectiveKind::all_reduce) == Approx(10).epsilon(0.03));
  // No more than the link gives stores alone.
  node.staged_bandwidth = 100_GBps;
  CHECK(bus(alone(node, PeerToPeer::none), CollectiveKind::all_reduce) <=
        1.02 * bus(alone(node, PeerToPeer::socket), CollectiveKind::all_reduce));
}

TEST_CASE("Peer access never slows a collective, and speeds those that the host's path bounds",
          "[cost][nccl][staging]") {
  const std::string name = GENERATE("pcie3_4x_2080ti", "pcie3_8x_2080ti", "pcie3_8x_v100",
                                    "pcie4_4x_l40", "g4dn_12xlarge", "p3dn", "dgx_a100");
  const NodeGraph node = shipped(name);
  const std::vector<PeerToPeer> levels = {PeerToPeer::none, PeerToPeer::pcie_switch,
                                          PeerToPeer::host_bridge, PeerToPeer::socket};
  for (const CollectiveKind kind : collective_kinds()) {
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 16) {
      double before = 0;
      for (const PeerToPeer level : levels) {
        const double now = seconds(alone(node, level), kind, Bytes{bytes});
        INFO(name << ", " << name_of(kind) << ", " << bytes << " B, level "
                  << static_cast<int>(level));
        if (level != levels.front()) CHECK(now <= 1.02 * before);
        before = now;
      }
    }
  }
  const bool has_nvlink = node.nvlink_lanes(node.gpus()[0], node.gpus()[1]) > 0;
  const double on = bus(alone(node, PeerToPeer::socket), CollectiveKind::all_reduce);
  const double off = bus(alone(node, PeerToPeer::none), CollectiveKind::all_reduce);
  INFO(name << ": " << off << " without, " << on << " GB/s with peer access");
  CHECK((has_nvlink ? on == off : on > 1.1 * off));
}

TEST_CASE("GPUDirect never slows a collective, and speeds those that wait for host memory",
          "[cost][nccl][staging]") {
  const std::string name = GENERATE("p3dn", "p4d", "dgx1v", "pcie3_8x_v100");
  const std::string link = GENERATE("efa_100g", "ib_edr", "roce_100g");
  const NodeGraph node = shipped(name);
  const auto with = machines(node, 2, link, true);
  const auto without = machines(node, 2, link, false);
  for (const CollectiveKind kind : collective_kinds()) {
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 16) {
      INFO(name << " over " << link << ", " << name_of(kind) << ", " << bytes << " B");
      CHECK(seconds(with, kind, Bytes{bytes}) <= 1.02 * seconds(without, kind, Bytes{bytes}));
    }
  }
  INFO(name << " over " << link);
  CHECK(seconds(with, CollectiveKind::all_reduce, 4_MiB) <
        0.99 * seconds(without, CollectiveKind::all_reduce, 4_MiB));
}

TEST_CASE("A kernel that only stores to host memory is not slowed by loads", "[staging]") {
  // Of a broadcast the root stores and the other loads: the switch's link carries its bytes once
  // each way, with what a host bridge other than AMD's gives stores between GPUs (NCCL,
  // src/graph/topo.h: INTEL_P2P_OVERHEAD); of an all-reduce both do both: 3 x the share.
  const auto pair = alone(pair_below_a_switch(), PeerToPeer::none);
  const NcclLibrary library(pair, nccl_options({2, 18}, gpu));
  const Placement ranks = packed_placement(*pair, 2);
  const auto per_byte = [&](CollectiveKind kind) {
    return examine(*pair, library.plan(kind, ranks).front(), {}, nccl_2_28()).pcie_per_byte.count();
  };
  CHECK(per_byte(CollectiveKind::broadcast) == Approx(nccl_2_28().intel_p2p_overhead / 12e9));
  CHECK(per_byte(CollectiveKind::all_reduce) ==
        Approx(2 / (nccl_2_28().measured.host_duplex_share * 12e9)));
}

TEST_CASE("A host bridge takes nothing of stores between GPUs, Intel's a sixth", "[cost][nccl]") {
  // NCCL, src/graph/topo.h: INTEL_P2P_OVERHEAD.
  const auto per_byte = [](const char* processor) {
    const auto pair = alone(pair_below_bridges(processor), PeerToPeer::socket);
    const NcclLibrary library(pair, nccl_options({2, 18}, gpu));
    const auto pattern = library.plan(CollectiveKind::all_reduce, packed_placement(*pair, 2));
    return examine(*pair, pattern.front(), {}, nccl_2_28()).pcie_per_byte.count();
  };
  CHECK(per_byte("amd") == Approx(1 / 12e9));
  CHECK(per_byte("skylake") == Approx(1.2 / 12e9));
}

}  // namespace gradwire
