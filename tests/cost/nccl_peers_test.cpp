#include "sim/cost/nccl_peers.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/cost/nccl_speeds.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/nccl_options.hpp"
#include "tests/source_dir.hpp"
#include "topologies/links.hpp"

// The channels of NCCL: in which it lays its rings, and on which it sends to a peer.

namespace gradwire {
namespace {

using namespace test;
using namespace literals;  // NOLINT(google-build-using-namespace): our own units

}  // namespace

TEST_CASE("NCCL lays few fast rings twice between machines", "[cost][nccl]") {
  // ncclTopoDupChannels: from 25 GB/s on; after Ampere not where there are more than four below 50.
  CHECK(nccl_laid_channels(2, 24, 80) == 2);
  CHECK(nccl_laid_channels(8, 30, 80) == 16);
  CHECK(nccl_laid_channels(4, 48, 90) == 8);
  CHECK(nccl_laid_channels(5, 48, 90) == 5);
  CHECK(nccl_laid_channels(8, 96, 100) == 16);
}

TEST_CASE("Two machines of two H100 each take trees for what is large", "[cost][nccl]") {
  // h100-2gpu-2n of collectives.yaml: a bus bandwidth of 92 GB/s up to 64 MiB, two ports' of
  // 400 Gbit/s; of 136 to 147 from 128 MiB on, as a tree's, which sends half as much. NCCL counts
  // 41.4 GB/s for a tree's channel: with two it would take rings of 96 throughout.
  const auto node = std::make_shared<const NodeGraph>(
      config::read_node(config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/hgx_h100.yaml")));
  Fabric fabric;
  fabric.port = config::shipped_links().find_port("ib_ndr")->port;
  const auto hub = fabric.add_switch("switch");
  for (int port = 0; port < 16; ++port) fabric.attach(hub);
  const auto cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(2, node), std::move(fabric));
  NcclOptions options;
  options.version = {2, 18};
  options.constants = config::shipped_nccl(options.version);
  options.gpus["h100-sxm5-80gb"] = {90, 3350_GBps};
  const NcclLibrary library(cluster, options);
  const auto way = [&](Bytes size) {
    const Placement ranks = packed_placement(*cluster, 2);
    const CollectiveCost cost =
        library.choose(library.plan(CollectiveKind::all_reduce, ranks), size).cost;
    return cost.algorithm + " " + cost.protocol;
  };
  CHECK(way(1_MiB) == "ring ll128");
  CHECK(way(256_MiB) == "tree simple");
  CHECK(way(8192_MiB) == "tree simple");
}

TEST_CASE("A peer of another machine gets fewer channels as ranks grow", "[cost][nccl]") {
  // 8 ports of 400 Gbit/s lay 8 rings, twice: 16 channels. By port 4 carry 14 GB/s each; 8 peers
  // make a batch: 32 ranks 4 x 4, 64 ranks 4 x 8, 128 ranks 2 x 16.
  const NcclConstants by_port = config::shipped_nccl({2, 29});
  CHECK(nccl_channels_to_peer(by_port, 32, 16, 48) == 4);
  CHECK(nccl_channels_to_peer(by_port, 64, 16, 48) == 2);
  CHECK(nccl_channels_to_peer(by_port, 128, 16, 48) == 1);
  CHECK(nccl_channels_to_peer(by_port, 16, 16, 12) == 1);
  // Two, as long as they are not more than four operations a channel.
  const NcclConstants before = config::shipped_nccl({2, 28});
  CHECK(nccl_channels_to_peer(before, 32, 16, 48) == 2);
  CHECK(nccl_channels_to_peer(before, 64, 16, 48) == 1);
}

TEST_CASE("A send fills its channels or its port", "[cost][nccl]") {
  const auto rate = [](NcclVersion version, BytesPerSecond port,
                       std::optional<int> channels_max = std::nullopt) {
    const auto cluster = test::host_cluster(8, {"ib", "ib", port, 1_us});
    NcclOptions options = nccl_options(version, {90, BytesPerSecond{}});
    options.channels_max = channels_max;
    const NcclLibrary library(cluster, options);
    const auto time = [&](Bytes size) {
      return library
          .choose(library.plan(CollectiveKind::send_recv, packed_placement(*cluster, 1)), size)
          .cost.uncontended.value();
    };
    return 1024 * 1048576.0 / (time(2048_MiB) - time(1024_MiB)).count();
  };
  CHECK(rate({2, 28}, 47_GBps) == Approx(2 * 14e9));
  CHECK(rate({2, 29}, 47_GBps) == Approx(0.94 * 47e9));  // of what links carry (peer_share)
  CHECK(rate({2, 28}, 12_GBps) == Approx(0.94 * 12e9));
  // NCCL_MAX_NCHANNELS counts for them, too: p2pnChannels is min(nChannels, NCCL_MAX_P2P_NCHANNELS)
  // (v2.28.9, src/graph/paths.cc).
  CHECK(rate({2, 28}, 47_GBps, 1) == Approx(14e9));
}

}  // namespace gradwire
