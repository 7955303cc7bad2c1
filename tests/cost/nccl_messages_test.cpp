#include "sim/cost/nccl_messages.hpp"

#include <memory>
#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"
#include "topologies/links.hpp"

// Messages that come before their receives: counted by hand from NCCL's chunks, slices and slots.

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

constexpr auto all_reduce = CollectiveKind::all_reduce;
constexpr auto all_gather = CollectiveKind::all_gather;
constexpr auto ring = NcclAlgorithm::ring;
constexpr auto tree = NcclAlgorithm::tree;
constexpr auto ll = NcclProtocol::ll;
constexpr auto simple = NcclProtocol::simple;
constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

/// us for messages of 10 us each, on machines of four GPUs and two ports with two rings over them.
double late(int machines, const NcclQuestion& question, double ports = 2) {
  NcclFacts facts;
  facts.late_message = 10_us;
  facts.ports = ports;
  return nccl_late_messages(config::shipped_nccl({2, 18}, {80}),
                            {.machines = machines, .ranks = 4 * machines, .channels = 2}, question,
                            facts);
}

/// What NCCL takes among two or eight machines of Polaris, over a port whose late messages cost
/// nothing or what the link's do.
CollectiveCost on_polaris(int machines, NcclVersion version, Bytes size, bool is_late = true) {
  const auto node = std::make_shared<const NodeGraph>(
      config::read_node(config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/polaris.yaml")));
  Fabric fabric;
  fabric.port = config::shipped_links().find_port("slingshot_11")->port;
  if (!is_late) fabric.port.late_message = Seconds{};
  const auto hub = fabric.add_switch("switch");
  for (int port = 0; port < 2 * machines; ++port) fabric.attach(hub);
  const auto cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(machines), node),
      std::move(fabric));
  NcclOptions options;
  options.version = version;
  options.constants = config::shipped_nccl(options.version);
  options.gpus["a100-sxm4-40gb"] = {80, 1555_GBps};
  const NcclLibrary library(cluster, options);
  return library.choose(library.plan(all_reduce, packed_placement(*cluster, 4)), size).cost;
}

std::string way(const CollectiveCost& cost) {
  return cost.algorithm + " " + cost.protocol;
}

}  // namespace

TEST_CASE("A message of more than a packet waits for its receiver to read it", "[cost][nccl]") {
  NcclFacts facts;
  const auto waited = [&](NcclAlgorithm algorithm, CollectiveKind kind, std::int64_t bytes) {
    return nccl_rendezvous(config::shipped_nccl({2, 20}, {80}),
                           {.machines = 2, .ranks = 16, .channels = 4},
                           {kind, algorithm, simple, bytes}, facts);
  };
  CHECK(waited(tree, all_reduce, mib) == 0);  // a port that writes into the receiver's memory
  facts.rendezvous = 25_us;
  facts.eager = Bytes{8 * kib};
  // A tree's chunk is all that a channel has: one channel up to 32 KiB, eight from 256 KiB on.
  CHECK(waited(tree, all_reduce, 8 * kib) == 0);
  CHECK(waited(tree, all_reduce, 8 * kib + 1) == Approx(25));
  CHECK(waited(tree, all_reduce, 512 * kib) == Approx(25));
  // A ring's message is the part of a rank: of 16, 8 KiB in 128 KiB of each of eight channels.
  CHECK(waited(ring, all_gather, mib) == 0);
  CHECK(waited(ring, all_gather, 2 * mib) == Approx(25));
  CHECK(waited(tree, all_reduce, 0) == 0);
}

TEST_CASE("A ring's messages of LL come to receives that are posted, a tree's are read",
          "[cost][nccl]") {
  NcclFacts facts;
  facts.rendezvous = 4_us;
  facts.eager = Bytes{2 * kib};
  const auto waited = [&](NcclAlgorithm algorithm, std::int64_t bytes) {
    return nccl_rendezvous(config::shipped_nccl({2, 20}, {80}),
                           {.machines = 2, .ranks = 8, .channels = 2},
                           {all_reduce, algorithm, ll, bytes}, facts);
  };
  // Half of a message of LL are flags.
  CHECK(waited(tree, kib) == 0);
  CHECK(waited(tree, kib + 1) == Approx(4));
  CHECK(waited(ring, mib) == 0);
}

TEST_CASE("A tree's connection has its messages read one after the other", "[cost][nccl]") {
  NcclFacts facts;
  facts.rendezvous = 25_us;
  const auto in_turn = [&](NcclAlgorithm algorithm, std::int64_t bytes) {
    return nccl_messages_in_turn(config::shipped_nccl({2, 20}, {80}),
                                 {.machines = 2, .ranks = 16, .channels = 4},
                                 {all_reduce, algorithm, simple, bytes}, facts);
  };
  facts.eager = Bytes{8 * kib};
  // Eight channels: 32 KiB each are one chunk, 256 KiB eight of 32 KiB, 2 MiB 32 of 64 KiB.
  CHECK(in_turn(tree, 256 * kib) == 0);
  CHECK(in_turn(tree, 2 * mib) == Approx(7 * 25));
  CHECK(in_turn(tree, 16 * mib) == Approx(31 * 25));
  CHECK(in_turn(ring, 16 * mib) == 0);
  CHECK(in_turn(tree, 0) == 0);
  facts.eager = Bytes{mib};
  CHECK(in_turn(tree, 16 * mib) == 0);
}

TEST_CASE("A ring's step takes a late message's time for each channel of a port, and each slice",
          "[cost][nccl][late]") {
  // All-gather of 32 ranks, 31 steps. LL works with a channel for 128 KiB: one channel, two (one a
  // port), four (two a port).
  CHECK(late(8, {all_gather, ring, ll, 128 * kib}) == Approx(31 * 10));
  CHECK(late(8, {all_gather, ring, ll, 256 * kib}) == Approx(31 * 10));
  CHECK(late(8, {all_gather, ring, ll, 512 * kib}) == Approx(31 * 2 * 10));
  // 4 MiB are 32 KiB for a rank and channel: one slice of LL and of Simple. 8 MiB: two of both.
  CHECK(late(8, {all_gather, ring, ll, 4 * mib}) == Approx(31 * 2 * 10));
  CHECK(late(8, {all_gather, ring, simple, 4 * mib}) == Approx(31 * 2 * 10));
  CHECK(late(8, {all_gather, ring, ll, 8 * mib}) == Approx(31 * 2 * 2 * 10));
  CHECK(late(8, {all_gather, ring, simple, 8 * mib}) == Approx(31 * 2 * 2 * 10));
  // Two slices stay two until a chunk of 2 MiB is full, 256 MiB here; then each chunk has two.
  CHECK(late(8, {all_gather, ring, simple, 256 * mib}) == Approx(31 * 2 * 2 * 10));
  CHECK(late(8, {all_gather, ring, simple, 512 * mib}) == Approx(31 * 2 * 4 * 10));
  // An all-reduce has twice the steps; four ports have a channel each.
  CHECK(late(8, {all_reduce, ring, simple, 4 * mib}) == Approx(62 * 2 * 10));
  CHECK(late(8, {all_reduce, ring, simple, 4 * mib}, 4) == Approx(62 * 10));
}

TEST_CASE("Messages are on time while a connection has slots for all, or when they are short",
          "[cost][nccl][late]") {
  // Eight slots; seven messages of LL take one each, of Simple two.
  CHECK(late(2, {all_gather, ring, ll, 1 * mib}) == 0);
  CHECK(late(2, {all_gather, ring, simple, 1 * mib}) == Approx(7 * 2 * 10));
  CHECK(late(2, {all_reduce, ring, ll, 1 * mib}) == Approx(14 * 2 * 10));
  // 32 KiB of 32 ranks: 2 KiB on the wire with LL's flags.
  CHECK(late(8, {all_gather, ring, ll, 32 * kib}) == 0);
  CHECK(late(8, {all_gather, ring, ll, 33 * kib}) > 0);
  for (const NcclAlgorithm algorithm : {ring, tree}) {
    for (const NcclProtocol protocol : nccl_protocols) {
      CHECK(late(8, {all_reduce, algorithm, protocol, 0}) == 0);
    }
  }
}

TEST_CASE("A tree's chunks come over two connections of a channel, over one on two machines",
          "[cost][nccl][late]") {
  // 8 MiB over four channels: 2 MiB each, 32 chunks of 64 KiB (nccl_tree_chunk; depth 6 on eight
  // machines), over two machines 16 of 128 KiB (depth 4).
  CHECK(late(8, {all_reduce, tree, simple, 8 * mib}) == Approx(2 * 32 * 2 * 10));
  CHECK(late(2, {all_reduce, tree, simple, 8 * mib}) == Approx(2 * 16 * 10));
  CHECK(late(8, {all_reduce, tree, simple, 256 * kib}) == 0);  // two chunks of 32 KiB
}

TEST_CASE("On Polaris NCCL 2.21 takes rings from 256 KiB to 4 MiB, trees at 8, rings from 16 on",
          "[cost][nccl][late]") {
  // What the runs show (argonne-lcf/alcf-nccl-tests, eight machines, env 4): 12 to 28 us for each
  // of 62 steps up to 4 MiB, 21 at 8 MiB, where a ring with two slices would take 40, 39 at 16.
  const NcclVersion version{2, 21};
  CHECK(way(on_polaris(8, version, Bytes{128 * kib})) == "tree ll");
  for (const std::int64_t size : {256 * kib, 512 * kib, 1 * mib, 2 * mib, 4 * mib}) {
    CHECK(way(on_polaris(8, version, Bytes{size})) == "ring ll");
  }
  CHECK(way(on_polaris(8, version, Bytes{8 * mib})) == "tree simple");
  CHECK(way(on_polaris(8, version, Bytes{16 * mib})) == "ring simple");
}

TEST_CASE("On two machines of Polaris NCCL 2.18 takes a ring at 128 KiB alone, below 8 MiB",
          "[cost][nccl][late]") {
  // The same runs: 266 us at 128 KiB (14 steps of 19 us), 129 at 256 KiB, 368 at 4 MiB, 611 at 8
  // MiB (14 of 44). That a tree wins at 256 KiB and 4 MiB takes NCCL's count with channels of twice
  // the network's speed on two machines, and with AMD's host bridges at full speed.
  const NcclVersion version{2, 18};
  CHECK(way(on_polaris(2, version, Bytes{64 * kib})) == "tree ll");
  CHECK(way(on_polaris(2, version, Bytes{128 * kib})) == "ring ll");
  CHECK(way(on_polaris(2, version, Bytes{256 * kib})) == "tree simple");
  CHECK(way(on_polaris(2, version, Bytes{4 * mib})) == "tree simple");
  CHECK(way(on_polaris(2, version, Bytes{8 * mib})) == "ring simple");
}

TEST_CASE("Late messages bound a collective from below, and change no choice",
          "[cost][nccl][late]") {
  for (std::int64_t size = 64; size <= 1024 * mib; size *= 2) {
    CAPTURE(size);
    const CollectiveCost late = on_polaris(8, {2, 21}, Bytes{size});
    const CollectiveCost prompt = on_polaris(8, {2, 21}, Bytes{size}, /*is_late=*/false);
    CHECK(way(late) == way(prompt));
    CHECK(late.uncontended.value() == std::max(prompt.uncontended.value(), late.late_messages));
    CHECK(prompt.late_messages == Seconds{});
  }
  // A gigabyte keeps the port busy for longer.
  CHECK(on_polaris(8, {2, 21}, 1024_MiB).late_messages <
        on_polaris(8, {2, 21}, 1024_MiB).uncontended.value());
}

}  // namespace gradwire
