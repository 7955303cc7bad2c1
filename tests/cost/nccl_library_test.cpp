#include "sim/cost/nccl_library.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/cost/nccl_measured.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/nccl_options.hpp"

namespace gradwire {
namespace {

using namespace test;
using namespace literals;  // NOLINT(google-build-using-namespace): our own units
using Names = std::vector<std::string>;

const NcclGpu a100{80, 1555_GBps};
const NcclGpu h100{90, 3350_GBps};

std::shared_ptr<const Cluster> nvswitched(int nodes) {
  return std::make_shared<const Cluster>(
      test::cluster_of(std::vector<std::shared_ptr<const NodeGraph>>(
          static_cast<std::size_t>(nodes), test::nvswitch_node())));
}

/// "algorithm/protocol" from 1 KiB to 4 GiB, each once, in order.
Names choices(const NcclLibrary& library, const Placement& ranks,
              CollectiveKind kind = CollectiveKind::all_reduce) {
  const std::vector<Pattern> patterns = library.plan(kind, ranks);
  Names seen;
  for (std::int64_t size = 1024; size <= std::int64_t{1} << 32; size *= 2) {
    const CollectiveChoice choice = library.choose(patterns, Bytes{size});
    CHECK(choice.cost.algorithm == patterns[choice.pattern].algorithm);
    const std::string name = choice.cost.algorithm + "/" + choice.cost.protocol;
    if (seen.empty() || seen.back() != name) seen.push_back(name);
  }
  return seen;
}

Names planned(const NcclLibrary& library, CollectiveKind kind, const Placement& ranks) {
  Names names;
  for (const Pattern& pattern : library.plan(kind, ranks)) names.push_back(pattern.algorithm);
  return names;
}

Seconds alone(const NcclLibrary& library, const Placement& ranks, Bytes size,
              CollectiveKind kind = CollectiveKind::all_reduce) {
  return library.choose(library.plan(kind, ranks), size).cost.uncontended.value();
}

}  // namespace

TEST_CASE("Inside a DGX-1V NCCL goes from LL over LL128 to Simple, and had no LL128 in 2.4",
          "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  CHECK(choices(NcclLibrary(cluster, nccl_options({2, 8}, v100)), ranks) ==
        Names{"ring/ll", "ring/ll128", "ring/simple"});
  CHECK(choices(NcclLibrary(cluster, nccl_options({2, 4}, v100)), ranks) ==
        Names{"ring/ll", "ring/simple"});
}

TEST_CASE("Two machines with NVLink take trees for all sizes in NCCL 2.4", "[cost][nccl]") {
  const auto cluster = dgx1v(2);
  CHECK(choices(NcclLibrary(cluster, nccl_options({2, 4}, v100)), packed_placement(*cluster, 8)) ==
        Names{"tree/ll", "tree/simple"});
}

TEST_CASE("Before 2.4 NCCL has rings only, and refuses trees", "[cost][nccl]") {
  const auto cluster = dgx1v(4);
  const Placement ranks = packed_placement(*cluster, 8);
  const NcclLibrary old(cluster, nccl_options({2, 3}, v100));
  CHECK(planned(old, CollectiveKind::all_reduce, ranks) == Names{"ring"});
  NcclOptions wanted = nccl_options({2, 3}, v100);
  wanted.algorithms = {NcclAlgorithm::tree};
  const NcclLibrary named(cluster, wanted);
  CHECK_THROWS_WITH(named.plan(CollectiveKind::all_reduce, ranks),
                    "NCCL 2.3 cannot run tree among these ranks: it needs NCCL 2.4 or later; "
                    "expected ring");
}

TEST_CASE("NVLS needs an NVSwitch, three GPUs of compute capability 9.0 and NCCL 2.17",
          "[cost][nccl]") {
  const auto one = nvswitched(1);
  const auto two = nvswitched(2);
  const Placement here = packed_placement(*one, 8);
  const Placement both = packed_placement(*two, 8);
  const auto kind = CollectiveKind::all_reduce;
  CHECK(planned(NcclLibrary(one, nccl_options({2, 28}, h100)), kind, here) ==
        Names{"tree", "ring", "nvls"});
  CHECK(planned(NcclLibrary(two, nccl_options({2, 28}, h100)), kind, both) ==
        Names{"tree", "ring", "nvls_tree"});
  for (const int gpus : {2, 3}) {
    const bool enough = gpus == 3;
    const auto names =
        planned(NcclLibrary(one, nccl_options({2, 28}, h100)), kind, packed_placement(*one, gpus));
    CHECK(names == (enough ? Names{"tree", "ring", "nvls"} : Names{"tree", "ring"}));
  }
  CHECK(planned(NcclLibrary(one, nccl_options({2, 28}, v100)), kind, here) ==
        Names{"tree", "ring"});
  CHECK(planned(NcclLibrary(one, nccl_options({2, 12}, h100)), kind, here) ==
        Names{"tree", "ring"});
  const auto mesh = dgx1v(1);
  CHECK(planned(NcclLibrary(mesh, nccl_options({2, 28}, h100)), kind, packed_placement(*mesh, 8)) ==
        Names{"tree", "ring"});
}

TEST_CASE("PAT needs one GPU a machine, CollNet a network that reduces", "[cost][nccl]") {
  const auto cluster = dgx1v(4);
  const Placement lone = packed_placement(*cluster, 1);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  CHECK(planned(NcclLibrary(cluster, wanted), CollectiveKind::all_gather, lone) ==
        Names{"ring", "pat"});
  CHECK(planned(NcclLibrary(cluster, wanted), CollectiveKind::all_gather,
                packed_placement(*cluster, 2)) == Names{"ring"});
  wanted.collnet = true;
  CHECK(planned(NcclLibrary(cluster, wanted), CollectiveKind::all_reduce, lone) ==
        Names{"tree", "ring", "collnet_direct", "collnet_chain"});
}

TEST_CASE("Every kind has a way in NCCL", "[cost][nccl]") {
  const auto cluster = dgx1v(2);
  const NcclLibrary library(cluster, nccl_options({2, 28}, v100));
  const Placement ranks = packed_placement(*cluster, 8);
  for (const CollectiveKind kind : collective_kinds()) {
    INFO(name_of(kind));
    const auto patterns = library.plan(kind, ranks);
    const CollectiveChoice choice = library.choose(patterns, 1_MiB);
    CHECK(choice.cost.source == "model");
    CHECK(choice.cost.uncontended.value() > Seconds{});
    const bool is_grouped = patterns.front().algorithm == "direct";
    if (is_grouped) CHECK(choice.cost.protocol == "simple");
  }
}

TEST_CASE("What is named is taken, and where it does not exist the ring", "[cost][nccl]") {
  const auto cluster = dgx1v(2);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  wanted.algorithms = {NcclAlgorithm::tree};
  wanted.protocols = {NcclProtocol::ll};
  const NcclLibrary library(cluster, wanted);
  CHECK(choices(library, ranks) == Names{"tree/ll"});
  CHECK(choices(library, ranks, CollectiveKind::broadcast) == Names{"ring/ll"});
  // Grouped sends have Simple alone: LL leaves nothing, so that all count.
  CHECK(choices(library, ranks, CollectiveKind::all_to_all) == Names{"direct/simple"});
}

TEST_CASE("An algorithm that cannot run here is refused with what it needs", "[cost][nccl]") {
  const auto cluster = nvswitched(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  wanted.algorithms = {NcclAlgorithm::nvls};
  CHECK_THROWS_WITH(
      NcclLibrary(cluster, wanted).plan(CollectiveKind::all_reduce, ranks),
      "NCCL 2.28 cannot run nvls among these ranks: it needs one machine, NVSwitches, three or "
      "more GPUs of compute capability 9.0 or later, two channels and NCCL 2.17 or later; expected "
      "ring or tree");
  wanted.algorithms = {NcclAlgorithm::collnet_chain};
  CHECK_THROWS_AS(NcclLibrary(cluster, wanted).plan(CollectiveKind::all_reduce, ranks),
                  SimulationError);
}

TEST_CASE("NVLS with one channel is refused", "[cost][nccl]") {
  const auto cluster = nvswitched(1);
  NcclOptions wanted = nccl_options({2, 28}, h100);
  wanted.algorithms = {NcclAlgorithm::nvls};
  const Placement ranks = packed_placement(*cluster, 8);
  CHECK_NOTHROW(NcclLibrary(cluster, wanted).plan(CollectiveKind::all_reduce, ranks));
  wanted.channels_max = 1;
  CHECK_THROWS_AS(NcclLibrary(cluster, wanted).plan(CollectiveKind::all_reduce, ranks),
                  SimulationError);
}

TEST_CASE("A broadcast passes a network hop for each further machine", "[cost][nccl]") {
  // LL: 2.7 us a network hop (NCCL v2.28.9, tuning.cc), 7 more NVLink hops as measured.
  const auto small = [&](int nodes) {
    const auto cluster = dgx1v(nodes);
    NcclOptions wanted = nccl_options({2, 28}, v100);
    wanted.protocols = {NcclProtocol::ll};
    const NcclLibrary library(cluster, wanted);
    const auto patterns = library.plan(CollectiveKind::broadcast, packed_placement(*cluster, 8));
    return library.choose(patterns, Bytes{8}).cost.uncontended.value().count();
  };
  const double hop = (2.7 + 7 * nccl_2_28().generations.front().ll_hop) * 1e-6;
  CHECK(small(16) - small(8) == Approx(8 * hop).epsilon(0.05));
}

TEST_CASE("AWS's plug-in asks for Simple before Hopper, from NCCL 2.12 on", "[cost][nccl]") {
  const auto cluster = test::host_cluster(2, PortSpec{"efa_100g", "efa", 10_GBps, 12_us});
  const Placement ranks = packed_placement(*cluster, 1);
  const auto small = [&](NcclOptions options) {
    const NcclLibrary library(cluster, options);
    return library.choose(library.plan(CollectiveKind::all_reduce, ranks), Bytes{1024})
        .cost.protocol;
  };
  CHECK(small(nccl_options({2, 12}, a100)) == "simple");
  CHECK(small(nccl_options({2, 11}, a100)) == "ll");
  CHECK(small(nccl_options({2, 28}, h100)) == "ll");
  NcclOptions named = nccl_options({2, 28}, a100);
  named.forces_ll128 = true;  // all three by name
  CHECK(small(named) == "ll");
  named = nccl_options({2, 28}, a100);
  named.protocols = {NcclProtocol::ll};
  CHECK(small(named) == "ll");
}

TEST_CASE("Half of the channels have half of the bandwidth", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 8}, {70, BytesPerSecond{}});
  wanted.algorithms = {NcclAlgorithm::ring};
  wanted.protocols = {NcclProtocol::simple};
  const Seconds all = alone(NcclLibrary(cluster, wanted), ranks, 256_MiB);
  wanted.channels_max = 3;
  const Seconds half = alone(NcclLibrary(cluster, wanted), ranks, 256_MiB);
  // Latency 8.4 + 14 * 3.4 us; 6 rings of 22.5 GB/s carry 14/8 of the size.
  const double latency = (8.4 + 14 * 3.4) * 1e-6;
  const double bytes = 256 * 1048576.0 * 14 / 8 / (6 * 22.5e9);
  CHECK(all.count() == Approx(latency + bytes));
  CHECK(half.count() == Approx(latency + 2 * bytes));
  wanted.channels_max.reset();
  wanted.channels_min = 12;
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, 256_MiB) == all);
}

TEST_CASE("NVLS has the channels of its generation to lose", "[cost][nccl]") {
  const auto cluster = nvswitched(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, h100);
  wanted.algorithms = {NcclAlgorithm::nvls};
  const Seconds all = alone(NcclLibrary(cluster, wanted), ranks, 256_MiB);
  const int channels = nccl_2_28().generations[2].nvls_channels;
  const NcclLibrary library(cluster, wanted);
  const auto patterns = library.plan(CollectiveKind::all_reduce, ranks);
  CHECK(library.choose(patterns, 256_MiB).cost.kernel.blocks == channels);
  wanted.channels_max = channels;
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, 256_MiB) == all);
  wanted.channels_max = channels / 2;
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, 256_MiB).count() > 1.8 * all.count());
}

TEST_CASE("One process launches on its GPUs one after the other", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  wanted.gpus_per_process = 8;
  const NcclLibrary library(cluster, wanted);
  const auto patterns = library.plan(CollectiveKind::all_reduce, ranks);
  CHECK(library.choose(patterns, Bytes{0}).cost.uncontended.value().count() ==
        Approx(8 * nccl_2_28().measured.launch * 1e-6));
}

TEST_CASE("Until 2.21 the host takes time for each channel", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 10}, v100);
  wanted.algorithms = {NcclAlgorithm::ring};
  wanted.protocols = {NcclProtocol::ll};
  wanted.gpus_per_process = 8;
  // 512 threads of 8 bytes for each of 8 ranks: 128 KiB make 4 channels; the GPUs are done earlier.
  const double channels = 128 * 1024 / (512.0 * 8 * 8);
  const double listed = (channels - 1) * nccl_2_28().measured.channel_host;
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, Bytes{128 * 1024}).count() ==
        Approx(8 * (nccl_2_28().measured.launch + listed) * 1e-6));
  wanted.constants = config::shipped_nccl({2, 21});
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, Bytes{128 * 1024}).count() ==
        Approx(8 * (nccl_2_28().measured.launch + listed) * 1e-6));
  wanted.constants = config::shipped_nccl({2, 22});
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, Bytes{128 * 1024}).count() ==
        Approx(8 * nccl_2_28().measured.launch * 1e-6));
}

TEST_CASE("The next launch is prepared while the GPUs work: the slower tells", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  const Seconds gpus = alone(NcclLibrary(cluster, wanted), ranks, 64_MiB);
  wanted.gpus_per_process = 8;
  CHECK(gpus.count() > 8 * nccl_2_28().measured.launch * 1e-6);
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, 64_MiB) == gpus);
}

TEST_CASE("A call that is waited for takes the host's time before its kernel", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  NcclOptions wanted = nccl_options({2, 28}, v100);
  const Seconds queued = alone(NcclLibrary(cluster, wanted), ranks, 1_MiB);
  wanted.host_per_call = 21_us;
  CHECK(alone(NcclLibrary(cluster, wanted), ranks, 1_MiB).count() ==
        Approx((queued + 21_us).count()));
}

TEST_CASE("LL128 takes Hopper what NCCL counts, and earlier GPUs longer", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  const auto of_nothing = [&](const NcclGpu& gpu) {
    NcclOptions wanted = nccl_options({2, 28}, gpu);
    wanted.algorithms = {NcclAlgorithm::ring};
    wanted.protocols = {NcclProtocol::ll128};
    return alone(NcclLibrary(cluster, wanted), ranks, Bytes{0}).count();
  };
  // NCCL v2.28.9, src/graph/tuning.cc: 14 us and 1.9 us for each of 14 hops.
  CHECK(of_nothing(h100) == Approx((14 + 14 * 1.9) * 1e-6));
  const NcclGeneration& volta = nccl_2_28().generations.front();
  const double fitted = volta.ll128_base + 14 * volta.ll128_hop;
  CHECK(of_nothing(v100) == Approx(fitted * 1e-6));
}

TEST_CASE("LL128 wants one generation of GPUs that NCCL knows it on", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const Placement ranks = packed_placement(*cluster, 8);
  for (const int capability : {0, 60, 75, 86, 89}) {
    const Names names =
        choices(NcclLibrary(cluster, nccl_options({2, 8}, {capability, 900_GBps})), ranks);
    CHECK(std::find(names.begin(), names.end(), "ring/ll128") == names.end());
    // Later versions know it on all from Volta on.
    const Names later =
        choices(NcclLibrary(cluster, nccl_options({2, 25}, {capability, 900_GBps})), ranks);
    CHECK((std::find(later.begin(), later.end(), "ring/ll128") != later.end()) ==
          (capability > 70));
  }
  NcclOptions forced = nccl_options({2, 8}, {75, 900_GBps});
  forced.protocols = {NcclProtocol::ll128};
  forced.forces_ll128 = true;
  CHECK(choices(NcclLibrary(cluster, forced), ranks).front().ends_with("/ll128"));
}

TEST_CASE("Answers do not depend on what was asked before", "[cost][nccl]") {
  const auto cluster = dgx1v(2);
  const NcclLibrary fresh(cluster, nccl_options({2, 28}, v100));
  const NcclLibrary used(cluster, nccl_options({2, 28}, v100));
  const Placement pair = test::on_node0({0, 1});
  const Placement all = packed_placement(*cluster, 8);
  static_cast<void>(alone(used, pair, 1_MiB));
  CHECK(alone(used, all, 1_MiB) == alone(fresh, all, 1_MiB));
  CHECK(alone(used, pair, 64_MiB) == alone(fresh, pair, 64_MiB));
}

TEST_CASE("No price is below what the busiest link takes", "[cost][nccl]") {
  for (const auto& cluster : {dgx1v(1), dgx1v(4), nvswitched(1), nvswitched(4)}) {
    for (const NcclGpu& gpu : {v100, h100}) {
      const NcclLibrary library(cluster, nccl_options({2, 28}, gpu));
      const Placement ranks = packed_placement(*cluster, 8);
      for (const CollectiveKind kind : collective_kinds()) {
        const auto patterns = library.plan(kind, ranks);
        for (const Bytes size : {1_MiB, 64_MiB, 1024_MiB}) {
          const CollectiveChoice choice = library.choose(patterns, size);
          std::vector<double> load(cluster->links().size());
          for (const Phase& phase : patterns[choice.pattern].phases) {
            for (const PatternFlow& flow : phase.flows) {
              for (std::uint32_t i = 0; i < flow.path_size; ++i) {
                load[static_cast<std::size_t>(
                    patterns[choice.pattern].path_links[flow.path_begin + i])] += flow.share;
              }
            }
          }
          double bound = 0;
          for (std::size_t id = 0; id < load.size(); ++id) {
            bound = std::max(bound, load[id] / cluster->links()[id].capacity);
          }
          INFO(name_of(kind) << " " << choice.cost.algorithm << "/" << choice.cost.protocol);
          CHECK(choice.cost.uncontended.value().count() >=
                bound * static_cast<double>(size.count()) * (1 - 1e-9));
        }
      }
    }
  }
}

TEST_CASE("One rank launches nothing", "[cost][nccl]") {
  const auto cluster = dgx1v(1);
  const NcclLibrary library(cluster, nccl_options({2, 28}, v100));
  const auto patterns = library.plan(CollectiveKind::all_reduce, test::on_node0({0}));
  CHECK_FALSE(library.choose(patterns, 1_MiB).cost.uncontended.has_value());
}

}  // namespace gradwire
