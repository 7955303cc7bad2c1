#include "sim/cost/nccl_tuner.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cost/nccl_options.hpp"

namespace gradwire {
namespace {

struct Printed {
  std::int64_t bytes;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double us;
};

constexpr NcclAlgorithm tree = NcclAlgorithm::tree;
constexpr NcclAlgorithm ring = NcclAlgorithm::ring;
constexpr NcclProtocol ll = NcclProtocol::ll;
constexpr NcclProtocol simple = NcclProtocol::simple;

/// What NCCL 2.12.12 printed (NCCL_DEBUG_SUBSYS=TUNING, "N Bytes -> Algo A proto P time T") for
/// all-reduces on 4 machines of 8 RTX 3090 over PCIe and one FDR InfiniBand NIC each; the log is
/// among the project's shared measurements, nccl_predicted_time_4x8_rtx3090_fdr.txt.
const std::vector<Printed> printed = {
    {64, tree, ll, 49.675526},
    {128, tree, ll, 49.751053},
    {256, tree, ll, 49.902111},
    {512, tree, ll, 50.204224},
    {1024, tree, ll, 50.942719},
    {2048, tree, ll, 52.621117},
    {4096, tree, ll, 56.505409},
    {8192, tree, ll, 63.410824},
    {16384, tree, ll, 77.221649},
    {32768, tree, ll, 104.843300},
    {65536, tree, ll, 178.501038},
    {131072, ring, ll, 267.515442},
    {262144, ring, ll, 412.630859},
    {524288, ring, ll, 702.861694},
    {1048576, tree, simple, 1155.289429},
    {2097152, tree, simple, 1589.482422},
    {4194304, ring, simple, 2187.303467},
    {8388608, ring, simple, 3348.227051},
    {16777216, ring, simple, 5670.073730},
    {33554432, ring, simple, 10313.767578},
    {67108864, ring, simple, 19601.156250},
    {134217728, ring, simple, 38175.929688},
    {268435456, ring, simple, 75325.484375},
    {536870912, ring, simple, 149624.578125},
    {1073741824, ring, simple, 298222.781250},
};

/// FDR carries 56 Gbit/s: 7 GB/s, in one channel. Compute capability 8.6 counted as Volta then.
constexpr NcclSystem rtx3090{
    .machines = 4, .ranks = 32, .architecture = 0, .local = hop_pcie, .channels = 1, .bus = 7.0};

}  // namespace

TEST_CASE("NCCL 2.12's 25 printed choices and times come out of its model", "[cost][nccl]") {
  const NcclConstants& constants = config::shipped_nccl({2, 12});
  for (const Printed& row : printed) {
    INFO(row.bytes << " bytes");
    const auto time = [&](NcclAlgorithm algorithm, NcclProtocol protocol) {
      return nccl_time(constants, rtx3090,
                       {CollectiveKind::all_reduce, algorithm, protocol, row.bytes});
    };
    CHECK(time(row.algorithm, row.protocol) == Approx(row.us).epsilon(1e-4));
    for (const NcclAlgorithm algorithm : {tree, ring}) {
      for (const NcclProtocol protocol : {ll, simple}) {
        CHECK(time(algorithm, protocol) >= time(row.algorithm, row.protocol));
      }
    }
  }
}

TEST_CASE("NCCL 2.4's trees are for several machines, and for all sizes on two with NVLink",
          "[cost][nccl]") {
  NcclSystem system{.machines = 1, .ranks = 8, .channels = 12};
  CHECK(nccl_tree_threshold(system) == 0);
  system.machines = 2;
  system.ranks = 16;
  CHECK(nccl_tree_threshold(system) == std::numeric_limits<double>::infinity());
  // 4 machines of 8: rings 6 * 31 us, trees 15 * 2 + 4 * 7 us; rings move 5000 B/us a channel,
  // trees 3/4 of it: r t / (r - t) = 3 r.
  system.machines = 4;
  system.ranks = 32;
  CHECK(nccl_tree_threshold(system) == Approx(3 * 60000.0 * (186 - 58)));
  // Over PCIe trees move 2/3 of 5000 B/us: r t / (r - t) = 2 r.
  system.local = hop_pcie;
  CHECK(nccl_tree_threshold(system) == Approx(2 * 5000.0 * (186 - 58)));
}

TEST_CASE("NCCL 2.4 takes LL up to 8 bytes a thread and chunk, twice that between machines",
          "[cost][nccl]") {
  const NcclSystem one{.machines = 1, .ranks = 8, .channels = 12};
  // All channels needed: 12 channels of 256 threads, a chunk a rank, 8 bytes.
  const NcclQuestion large{CollectiveKind::all_reduce, ring, simple, 1 << 30};
  CHECK(nccl_ll_threshold(one, large) == Approx(12 * 256 * 8 * 8.0));
  const NcclSystem two{.machines = 2, .ranks = 16, .channels = 12};
  const NcclQuestion in_tree{CollectiveKind::all_reduce, tree, simple, 1 << 30};
  CHECK(nccl_ll_threshold(two, in_tree) == Approx(12 * 256 * 16 * 4.0));
}

TEST_CASE("An eight-GPU ring of NCCL 2.28 costs base, hops and bytes", "[cost][nccl]") {
  const NcclConstants& constants = test::nccl_2_28();
  const NcclSystem a100{.machines = 1, .ranks = 8, .architecture = 1, .channels = 12, .bus = 240};
  const auto time = [&](NcclProtocol protocol, std::int64_t bytes) {
    return nccl_time(constants, a100, {CollectiveKind::all_reduce, ring, protocol, bytes});
  };
  // 14 steps carry 14/8 of the size. Simple: 8.4 + 14 * 3.4 us at 240 GB/s; LL: 6.6 + 14 * 0.6 us
  // at min(87.7, 240 / 2); LL128: 14 + 14 * 1.9 us at min(0.92 * 240, 12 * 20).
  constexpr std::int64_t bytes = 1 << 20;
  CHECK(time(simple, bytes) == Approx(8.4 + 14 * 3.4 + bytes * 14 / 8.0 / 240e3));
  CHECK(time(ll, bytes) == Approx(6.6 + 14 * 0.6 + bytes * 14 / 8.0 / 87.7e3));
  CHECK(time(NcclProtocol::ll128, bytes) == Approx(14 + 14 * 1.9 + bytes * 14 / 8.0 / 220.8e3));
}

TEST_CASE("The model's times grow with the size and fall with the bus", "[cost][nccl]") {
  for (const int minor : {0, 4, 5, 8, 10, 12, 18, 20, 21, 22, 23, 27, 28}) {
    const NcclConstants constants = config::shipped_nccl({2, minor});
    for (const int machines : {1, 2, 4}) {
      NcclSystem system{.machines = machines,
                        .ranks = 8 * machines,
                        .architecture = 2,
                        .channels = 16,
                        .bus = 320};
      NcclSystem wider = system;
      wider.bus = 400;
      for (const CollectiveKind kind : collective_kinds()) {
        for (const NcclAlgorithm algorithm : nccl_algorithms) {
          for (const NcclProtocol protocol : nccl_protocols) {
            const bool is_nvls =
                algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
            if (!nccl_has(kind, algorithm, protocol)) continue;
            if (is_nvls && constants.nvls_hop == 0) continue;  // older than NVLS
            for (std::int64_t bytes = 0; bytes <= 1 << 28; bytes = 2 * bytes + 512) {
              // A tree's correction by powers of two may let a larger size take less time.
              const bool is_corrected = algorithm == tree;
              const NcclQuestion question{kind, algorithm, protocol, bytes};
              const NcclQuestion larger{kind, algorithm, protocol, 2 * bytes + 512};
              const double time = nccl_time(constants, system, question);
              if (!(std::isfinite(time) && time > 0)) {
                FAIL(constants.first_minor << " " << name_of(algorithm));
              }
              CHECK(nccl_time(constants, wider, question) <= time);
              if (!is_corrected) CHECK(nccl_time(constants, system, larger) >= time);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("Versions take the newest range that is not after them", "[cost][nccl]") {
  CHECK(config::shipped_nccl({2, 3}).first_minor == 0);
  CHECK(config::shipped_nccl({2, 4}).first_minor == 4);
  CHECK(config::shipped_nccl({2, 9}).first_minor == 8);
  CHECK(config::shipped_nccl({2, 19}).first_minor == 18);
  CHECK(config::shipped_nccl({2, 20}).first_minor == 20);
  CHECK(config::shipped_nccl({2, 21}).first_minor == 21);
  CHECK(config::shipped_nccl({2, 22}).first_minor == 22);
  CHECK(config::shipped_nccl({2, 26}).first_minor == 23);
  CHECK(config::shipped_nccl({2, 27}).first_minor == 27);
  CHECK(config::shipped_nccl({2, 28}).first_minor == 28);
  CHECK(config::shipped_nccl({2, 31}).first_minor == 29);
  CHECK_FALSE(config::shipped_nccl({2, 22}).has_pat);
  CHECK(config::shipped_nccl({2, 23}).has_pat);  // NCCL 2.23's release notes
}

TEST_CASE("A tree's correction dips between 256 KiB and 1 MiB", "[cost][nccl]") {
  const NcclConstants& constants = test::nccl_2_28();
  // treeCorrectionFactor[LL] of src/graph/tuning.cc: entry log2(bytes / 64).
  CHECK(nccl_tree_correction(constants, ll, 63) == 1);
  CHECK(nccl_tree_correction(constants, ll, 64 << 12) == 0.4);
  CHECK(nccl_tree_correction(constants, simple, 64 << 12) == 0.5);
  CHECK(nccl_tree_correction(constants, ll, std::int64_t{64} << 23) == 1);
}

TEST_CASE("NCCL 2.18 takes trees where 2.20 takes rings: its Simple hops are 4 and 14 us, not 28",
          "[cost][nccl]") {
  // Eight machines of four GPUs, two channels of 24 GB/s on AMD hosts (Polaris), 512 KiB.
  const NcclSystem system{
      .machines = 8, .ranks = 32, .architecture = 1, .channels = 2, .bus = 48, .amd = true};
  const auto time = [&](NcclVersion version, NcclAlgorithm algorithm, NcclProtocol protocol) {
    return nccl_time(config::shipped_nccl(version), system,
                     {CollectiveKind::all_reduce, algorithm, protocol, 512 << 10});
  };
  // 2 * (3 * 4 + 3 * 14) us of hops against 2 * (3 * 28 + 3 * 28).
  CHECK(time({2, 20}, tree, simple) - time({2, 18}, tree, simple) == Approx(336 - 108));
  CHECK(time({2, 18}, tree, simple) < time({2, 18}, ring, ll));
  CHECK(time({2, 20}, tree, simple) > time({2, 20}, ring, ll));
}

TEST_CASE("A Simple tree's chunk shrinks until it fills the tree", "[cost][nccl]") {
  // src/enqueue.cc: depth 3 + 3 on eight machines of four GPUs, two channels. 1 GiB: 512 MiB a
  // channel are 1024 chunks of 512 KiB, more than 8 * 6; 8 MiB: 4 MiB, halved to 128 KiB (32
  // chunks, not 48) and no further (24); 1 MiB: 512 KiB, to 64 KiB (8 chunks, more than 6).
  const NcclSystem system{.machines = 8, .ranks = 32};
  CHECK(nccl_tree_chunk(system, 2, 1 << 30) == 524288);
  CHECK(nccl_tree_chunk(system, 2, 8 << 20) == 131072);
  CHECK(nccl_tree_chunk(system, 2, 1 << 20) == 65536);
  CHECK(nccl_tree_chunk(system, 2, 16 << 10) == 8192);
}

TEST_CASE("LL128's trees cut chunks while too few fill the tree", "[cost][nccl]") {
  // Two machines of eight: 1 + 1 + 0.8 steps; over eight ranks 22.4 chunks of 128 KiB and more are
  // wanted, and 5.6 of 32 KiB and more. 2 MiB over 24 channels: 85 KiB each, cut five times.
  const NcclSystem system{.machines = 2, .ranks = 16, .channels = 24};
  CHECK(nccl_tree_ll128_chunk(system, 24, 1 << 30) == 614400);
  CHECK(nccl_tree_ll128_chunk(system, 24, 2 << 20) == 614400.0 / 32);
  CHECK(nccl_tree_ll128_chunk(system, 24, 24 << 10) == 1024);
}

}  // namespace gradwire
