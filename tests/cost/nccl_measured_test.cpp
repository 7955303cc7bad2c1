#include "sim/cost/nccl_measured.hpp"

#include "sim/cost/nccl_nvls.hpp"
#include "tests/catch.hpp"
#include "tests/cost/nccl_options.hpp"

// What runs take beyond NCCL's own model: by hand from its chunks, hops and threads.

namespace gradwire {
namespace {

constexpr auto all_reduce = CollectiveKind::all_reduce;
constexpr auto ring = NcclAlgorithm::ring;
constexpr auto tree = NcclAlgorithm::tree;
constexpr auto ll = NcclProtocol::ll;
constexpr auto simple = NcclProtocol::simple;
constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

/// us on machines of eight GPUs of a compute capability; a byte takes `nvlink` in them and
/// `network` between them, and a rank sends so much of all.
double us(int machines, int capability, const NcclQuestion& question, Seconds nvlink,
          Seconds network = {}, double sent = 0) {
  NcclFacts facts;
  facts.sent_share = sent;
  facts.capability_min = facts.capability_max = capability;
  facts.nvlink_per_byte = nvlink;
  facts.other_per_byte = network;
  const NcclSystem system{
      .machines = machines, .ranks = 8 * machines, .architecture = 1, .channels = 8};
  return nccl_measured_time(test::nccl_2_28(), system, question, facts, 1, 1);
}

constexpr Seconds fast{1e-15};  ///< a byte; 0 would be a division by zero

}  // namespace

TEST_CASE("A ring waits for the queues of a process's other GPUs, a chain does not",
          "[cost][nccl]") {
  const NcclConstants constants = config::shipped_nccl({2, 20});
  NcclFacts facts;
  facts.capability_min = facts.capability_max = 80;
  facts.nvlink_per_byte = Seconds{4e-12};
  const NcclSystem system{.machines = 1, .ranks = 8, .architecture = 1, .channels = 12};
  const auto more = [&](CollectiveKind kind) {
    const auto at = [&](int gpus_per_process) {
      const NcclQuestion question{kind, ring, simple, 256 * mib};
      return nccl_measured_time(constants, system, question, facts, gpus_per_process, 1);
    };
    return at(8) - at(1);
  };
  // 24 channels, of which the first one's queue is in the launch.
  CHECK(more(all_reduce) == Approx(7 * 23 * constants.measured.channel_host));
  CHECK(more(CollectiveKind::broadcast) == Approx(0).margin(1e-9));
}

TEST_CASE("Hops of stores over PCIe pass while other slices move", "[cost][nccl]") {
  const auto at = [](bool stores, std::int64_t bytes) {
    NcclFacts facts;
    facts.local = hop_pcie;
    facts.stores_over_pcie = stores;
    facts.capability_min = facts.capability_max = 70;
    facts.other_per_byte = Seconds{1.5 / 10e9};  // four GPUs, 10 GB/s of bus bandwidth
    const NcclSystem system{
        .machines = 1, .ranks = 4, .architecture = 0, .local = hop_pcie, .channels = 2};
    return nccl_measured_time(test::nccl_2_28(), system, {all_reduce, ring, simple, bytes}, facts,
                              1, 1);
  };
  // Six hops of 5.7 us; of a step's 26 us three quarters are other slices' at 1 MiB, of its 1.6 us
  // at 64 KiB.
  CHECK(at(false, mib) - at(true, mib) == Approx(6 * 5.7));
  const double step = 64 * kib * 1.5 / 10e9 * 1e6 / 6;
  CHECK(at(false, 64 * kib) - at(true, 64 * kib) == Approx(6 * 0.75 * step));
}

TEST_CASE("On Ampere hops of stores over PCIe are waited for", "[cost][nccl]") {
  const auto at = [](int capability, std::int64_t bytes) {
    NcclFacts facts;
    facts.local = hop_pcie;
    facts.stores_over_pcie = true;
    facts.capability_min = facts.capability_max = capability;
    facts.other_per_byte = Seconds{1.5 / 10e9};
    const NcclSystem system{
        .machines = 1, .ranks = 4, .architecture = 0, .local = hop_pcie, .channels = 2};
    return nccl_measured_time(test::nccl_2_28(), system, {all_reduce, ring, simple, bytes}, facts,
                              1, 1);
  };
  // Six hops, of which Volta hides all at 1 MiB.
  CHECK(at(89, mib) - at(70, mib) == Approx(6 * test::nccl_2_28().generations[1].simple_pcie_hop));
}

TEST_CASE("A hop of LL through host memory looks for its flags across PCIe", "[cost][nccl]") {
  const auto at = [](bool stores) {
    NcclFacts facts;
    facts.local = hop_pcie;
    facts.stores_over_pcie = stores;
    facts.capability_min = facts.capability_max = 70;
    facts.other_per_byte = fast;
    const NcclSystem system{
        .machines = 1, .ranks = 4, .architecture = 0, .local = hop_pcie, .channels = 2};
    return nccl_measured_time(test::nccl_2_28(), system, {all_reduce, ring, ll, 8}, facts, 1, 1);
  };
  CHECK(at(false) - at(true) == Approx(6 * test::nccl_2_28().measured.ll_host_hop));
}

TEST_CASE("Over two machines a tree of LL128 has the rate of its links, without NCCL's corrections",
          "[cost][nccl]") {
  const NcclConstants& own = test::nccl_2_28();
  NcclConstants flat = own;
  flat.tree_ll128_correction.fill(1);
  NcclFacts facts;
  facts.capability_min = facts.capability_max = 80;
  facts.nvlink_per_byte = fast;
  facts.other_per_byte = Seconds{1e-9};
  const auto at = [&](const NcclConstants& constants, int machines) {
    const NcclSystem system{
        .machines = machines, .ranks = 8 * machines, .architecture = 1, .channels = 8};
    return nccl_measured_time(constants, system, {all_reduce, tree, NcclProtocol::ll128, mib},
                              facts, 1, 1);
  };
  CHECK(at(own, 2) == Approx(at(flat, 2)));
  CHECK(at(own, 4) > at(flat, 4));
}

TEST_CASE("Beside EFA that does not reach GPU memory a rank's thread moves what it exchanges",
          "[cost][nccl]") {
  const auto at = [](int minor, bool staged, NcclProtocol protocol, std::int64_t bytes) {
    NcclFacts facts;
    facts.capability_min = facts.capability_max = 70;
    facts.is_efa = true;
    facts.staged_per_byte = staged ? Seconds{1e-12} : Seconds{};
    facts.exchanged_share = 2;  // two machines of one GPU: all goes out and comes in
    facts.other_per_byte = Seconds{1e-11};
    const NcclSystem system{.machines = 2, .ranks = 2, .architecture = 0, .channels = 2};
    return nccl_measured_time(config::shipped_nccl({2, minor}), system,
                              {all_reduce, ring, protocol, bytes}, facts, 1, 1);
  };
  const double more = 128.0 * mib * 2 / 5.2e9 * 1e6;
  CHECK(at(12, true, simple, 256 * mib) - at(12, true, simple, 128 * mib) ==
        Approx(more).epsilon(1e-3));
  CHECK(at(12, true, ll, 256 * mib) - at(12, true, ll, 128 * mib) ==
        Approx(2 * more).epsilon(1e-3));
  CHECK(at(12, false, simple, 128 * mib) < more / 2);
  CHECK(at(4, true, simple, 128 * mib) < more / 2);  // 2.4: not seen on two machines of 2019
}

TEST_CASE("Grouped sends and receives reach 94 % of what links carry, beyond their start",
          "[cost][nccl]") {
  const auto at = [](std::int64_t bytes) {
    return us(1, 80, {CollectiveKind::all_to_all, NcclAlgorithm::direct, simple, bytes},
              Seconds{4e-12});
  };
  const auto extra = static_cast<double>(1024 * mib);
  CHECK(at(2048 * mib) - at(1024 * mib) == Approx(extra * 4e-6 / 0.94));
}

TEST_CASE("The rate of a switch that reduces hardly depends on how many GPUs it serves",
          "[cost][nccl]") {
  // Together's GB200: 461, 475 and 472 GB/s on 4, 64 and 68 (collectives_blind.yaml).
  const auto more = [](int ranks) {
    NcclFacts facts;
    facts.capability_min = facts.capability_max = 100;
    facts.nvlink_per_byte = Seconds{2e-12};
    const NcclSystem system{.machines = 1, .ranks = ranks, .architecture = 3, .channels = 8};
    const auto at = [&](std::int64_t bytes) {
      return nccl_nvls_links(test::nccl_2_28(), system,
                             {all_reduce, NcclAlgorithm::nvls, simple, bytes}, facts);
    };
    return at(32768 * mib) - at(16384 * mib);
  };
  // 2 ps a byte of 94 % of the links; loops over 24 channels x n GPUs x 128 KiB, of 10 us on 8
  // GPUs, and none on 2.
  const auto expected = [](int ranks) {
    const auto bytes = static_cast<double>(16384 * mib);
    const double loops = bytes / (24 * ranks * static_cast<double>(128 * kib));
    return bytes * 2e-6 / 0.94 + loops * 10 * (ranks - 2) / 6;
  };
  for (const int ranks : {4, 8, 64, 72}) {
    CHECK(more(ranks) == Approx(expected(ranks)));
    CHECK(more(ranks) == Approx(more(8)).epsilon(0.06));
  }
}

TEST_CASE("An NVLSTree's first chunks pass every stage before the last byte does", "[cost][nccl]") {
  // A byte takes 10 ps on the network and 4 ps in the switches: half to be reduced, half spread.
  const auto at = [](int machines, std::int64_t bytes) {
    return us(machines, 90, {all_reduce, NcclAlgorithm::nvls_tree, simple, bytes}, Seconds{4e-12},
              Seconds{10e-12});
  };
  // 16 channels x 8 heads: chunks of 64 KiB below 64 MiB, of 128 KiB from there. A level's two
  // hops and four stages in the machine, less the slowest, which is in the time for all bytes.
  const double stages = 2 * 10e-6 + 4 * 2e-6 - 10e-6;  // us a byte
  CHECK(at(2, 64 * mib) - at(2, 64 * mib - 1) == Approx(8 * mib * stages).epsilon(1e-3));
  // From four machines on chunks stay at 64 KiB.
  CHECK(at(4, 64 * mib) - at(4, 64 * mib - 1) == Approx(0).margin(1e-3));
}

TEST_CASE("NVLS waits for two stages of its first chunks, and in each loop for all ranks",
          "[cost][nccl]") {
  const auto jump = [](int capability, std::int64_t bytes) {
    const auto at = [&](std::int64_t of) {
      return us(1, capability, {all_reduce, NcclAlgorithm::nvls, simple, of}, Seconds{4e-12});
    };
    return at(bytes) - at(bytes - 1);
  };
  const double stages = 2 * 4e-6;  // us a byte
  const double hopper = test::nccl_2_28().generations[2].nvls_loop;
  const double blackwell = test::nccl_2_28().generations[3].nvls_loop;
  // 16 channels x 8 heads at once on Hopper: chunks of 16 KiB below twice 4 MiB, of 32 KiB below
  // 8 times 8 MiB, of 64 KiB below 64 times 16 MiB, of 128 KiB from there, in half as many loops.
  CHECK(jump(90, 8 * mib) == Approx(2 * mib * stages - 2 * hopper).epsilon(1e-3));
  CHECK(jump(90, 64 * mib) == Approx(4 * mib * stages - 8 * hopper).epsilon(1e-3));
  CHECK(jump(90, 1024 * mib) == Approx(8 * mib * stages - 64 * hopper).epsilon(1e-3));
  // 24 channels inside a machine on Blackwell.
  CHECK(jump(90, 12 * mib) == Approx(0).margin(1e-3));
  CHECK(jump(100, 12 * mib) == Approx(3 * mib * stages - 2 * blackwell).epsilon(1e-3));
}

TEST_CASE("LL waits in each hop until every thread's line has come", "[cost][nccl]") {
  const NcclGeneration& ampere = test::nccl_2_28().generations[1];
  const auto added = [](int machines, NcclAlgorithm algorithm, std::int64_t bytes) {
    const auto at = [&](std::int64_t of) {
      return us(machines, 80, {all_reduce, algorithm, ll, of}, fast, fast);
    };
    return at(bytes) - at(0);
  };
  // 512 threads of 8 bytes: a part of 4 KiB for each of 8 ranks fills one channel, 512 KiB 16.
  const double all = ampere.ll_parts + ampere.ll_lines;
  CHECK(added(1, ring, 32 * kib) == Approx(14 * all));
  CHECK(added(1, ring, 16 * kib) == Approx(14 * (ampere.ll_parts + ampere.ll_lines / 2)));
  CHECK(added(1, ring, 512 * kib) == Approx(14 * all));
  // Two machines: up and down 7 hops in each and one between them.
  CHECK(added(2, tree, 4 * kib) ==
        Approx(2 * (7 * all + test::nccl_2_28().measured.ll_network_lines)));
}

TEST_CASE("A ring of LL hops faster while only some of its ranks have a part of 16 bytes",
          "[cost][nccl]") {
  const NcclGeneration& ampere = test::nccl_2_28().generations[1];
  NcclFacts facts;
  facts.capability_min = facts.capability_max = 80;
  facts.nvlink_per_byte = fast;
  const NcclSystem system{.machines = 1, .ranks = 8, .architecture = 1, .channels = 8};
  const auto added = [&](int minor, std::int64_t bytes) {
    const NcclConstants constants = config::shipped_nccl({2, minor});
    const auto at = [&](std::int64_t of) {
      return nccl_measured_time(constants, system, {all_reduce, ring, ll, of}, facts, 1, 1);
    };
    return at(bytes) - at(0);
  };
  // A line of 8 bytes of 512: nearly nothing. Of 8 parts two, four and eight are filled; the first
  // alone takes a hop as it is.
  const auto lines = [&](double bytes) { return 14 * ampere.ll_lines * bytes / 8 / 4096; };
  CHECK(added(28, 16) == Approx(lines(16)));
  CHECK(added(28, 32) == Approx(14 * ampere.ll_parts * 1 / 7 + lines(32)));
  CHECK(added(28, 64) == Approx(14 * ampere.ll_parts * 3 / 7 + lines(64)));
  CHECK(added(28, 128) == Approx(14 * ampere.ll_parts + lines(128)));
  CHECK(added(28, 1024) == Approx(14 * ampere.ll_parts + lines(1024)));
  // Until 2.21 parts are lines of all threads: they come with these.
  CHECK(added(21, 128) == Approx(14 * (ampere.ll_parts + ampere.ll_lines) * 128 / 8 / 4096));
  CHECK(added(22, 128) == Approx(added(28, 128)));
}

TEST_CASE("LL's lines and its bytes move at the same time", "[cost][nccl]") {
  const Seconds slow{1e-9};
  const double alone = us(1, 80, {all_reduce, ring, ll, 0}, slow);
  // Half of what is sent are flags.
  CHECK(us(1, 80, {all_reduce, ring, ll, 512 * kib}, slow) - alone ==
        Approx(2 * 512 * kib * slow.count() * 1e6));
}

TEST_CASE("A rank's proxy looks at the flags of all LL that it sends", "[cost][nccl]") {
  const auto at = [](NcclAlgorithm algorithm, std::int64_t bytes) {
    return us(2, 80, {all_reduce, algorithm, ll, bytes}, fast, fast, 1.5);
  };
  const double all = 1.5 * mib / test::nccl_2_28().measured.ll_proxy.count() * 1e6;
  CHECK(at(ring, mib) - at(ring, 0) == Approx(all));
  // A pattern counts twice what a tree of NCCL sends between two machines.
  CHECK(at(tree, mib) - at(tree, 0) == Approx(all / 2));
}

TEST_CASE("Sends and receives in a group start as NCCL's rings do", "[cost][nccl]") {
  // NCCL v2.28.9, src/graph/tuning.cc: 8.4 us and 3.4 for a hop over NVLink.
  const NcclQuestion pairs{CollectiveKind::send_recv, NcclAlgorithm::direct, simple, 0};
  CHECK(us(1, 80, pairs, fast) == Approx(8.4 + 3.4 + test::nccl_2_28().measured.peer));
}

TEST_CASE("Rings over NVLink start and hop as measured on each generation", "[cost][nccl]") {
  for (const auto& [capability, index] : {std::pair{70, 0}, {80, 1}, {86, 1}, {90, 2}, {100, 3}}) {
    const NcclGeneration& times = test::nccl_2_28().generations.at(static_cast<std::size_t>(index));
    const auto of_nothing = [&, by = capability](NcclProtocol protocol) {
      return us(1, by, {all_reduce, ring, protocol, 0}, fast);
    };
    CHECK(of_nothing(ll) == Approx(times.ll_base + 14 * times.ll_hop));
    CHECK(of_nothing(NcclProtocol::ll128) == Approx(times.ll128_base + 14 * times.ll128_hop));
    CHECK(of_nothing(simple) == Approx(times.simple_base + 14 * times.simple_hop));
  }
}

}  // namespace gradwire
