#include "sim/cost/nccl_constants.hpp"

#include <bit>
#include <vector>

namespace gradwire {
namespace {

// treeCorrectionFactor of src/graph/tuning.cc.
constexpr NcclTreeCorrection correction_ll = {1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
                                              .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1};
constexpr NcclTreeCorrection correction_ll128_old = {
    1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92};
constexpr NcclTreeCorrection correction_ll128 = {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
                                                 .6, .6, .6, .6, .8, .9, .9, .9, .9, 1,  1};
constexpr NcclTreeCorrection correction_simple = {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                                                  .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9};

constexpr NcclByArchitecture everywhere(double value) {
  return {
      {{value, value, value}, {value, value, value}, {value, value, value}, {value, value, value}}};
}
/// Volta's and Ampere's rows; later GPUs take Ampere's.
constexpr NcclByArchitecture two_rows(std::array<double, 3> volta, std::array<double, 3> ampere) {
  return {{volta, ampere, ampere, ampere}};
}
/// Later GPUs than Hopper take Hopper's.
constexpr NcclByArchitecture three_rows(std::array<double, 3> volta, std::array<double, 3> ampere,
                                        std::array<double, 3> hopper) {
  return {{volta, ampere, hopper, hopper}};
}

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<NcclConstants> make_constants() {
  NcclConstants constants;
  constants.first_minor = 4;
  constants.source =
      "NCCL 2.4, src/init.cc (ncclTreeThreshold) and src/misc/enqueue.cc (getKernelInfo); times by "
      "the numbers of 2.8.3, there were none";
  constants.has_model = false;
  constants.tree_base = {4.4, 4.4, 0};
  constants.ring_base = {3.6, 10.0, 8.4};
  // 2.4 halves a tree's chunks down to 32 KiB (computeColl), where 2.8 counts 28 us for 256 KiB in
  // each hop of Simple: 2.25's hops, whose chunks shrink too, stand for it.
  constants.tree_hop = {{{.52, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14}}};
  constants.ring_hop = {{{.47, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 9.6}}};
  // Named CollNet, of one kind, in 2.8; split in two later.
  constants.collnet_direct_hop = {4.0, 5.5, 10.7};
  constants.collnet_chain_hop = {4.0, 5.5, 10.7};
  constants.ll_local_factor = 1.8;
  constants.ampere_bus_max = 235;
  constants.ring_ll = 1.0 / 4;
  constants.ring_ll_local = 1.0 / 3;
  constants.tree_ll128_network = 0.915;
  constants.ll_max = two_rows({39.0, 39.0, 20.4}, {87.7, 22.5, 19.0});
  // ll128MaxBwPerCh of all-reduce.
  constants.ring_ll128_channel = constants.tree_ll128_channel = everywhere(16.9);
  constants.tree_channel = two_rows({26.5, 18.5, 10.0}, {24.0, 22.5, 16.0});
  constants.ll128_correction = &correction_ll128_old;
  std::vector<NcclConstants> all = {constants};
  // Massively scale your deep learning training with NCCL 2.4 (S. Jeaugey, 2019): rings before.
  all.front().first_minor = 0;
  all.front().has_trees = false;
  all.front().sends_lengths_ahead = false;
  all.front().source = "not read; the numbers of 2.4, but no trees";
  all.push_back(constants);

  constants.first_minor = 5;
  constants.several_connections = true;
  constants.tree_hop = {{{.52, 1.25, 28}, {1.0, 1.9, 28}, {5.0, 8.5, 28}}};
  constants.source = "the numbers of 2.8.3; 2.5 to 2.7 were not read";
  constants.has_model = true;
  all.push_back(constants);

  constants.first_minor = 8;
  constants.source = "NCCL 2.8.3-1 (commit 920dbe5b), src/graph/tuning.cc; 2.9: not read";
  // Read in a net_socket.cc of 2022; since when is assumed.
  constants.sockets_by_proxy = true;
  all.push_back(constants);

  constants.first_minor = 10;
  constants.source = "NCCL 2.10.3-1 (commit 7e515921), src/graph/tuning.cc; 2.11: not read";
  constants.collnet_direct_hop = constants.collnet_chain_hop = {8.0, 8.0, 10.7};
  constants.tree_ll128_network = 120.0 / 128;
  constants.ring_ll128_channel = constants.tree_ll128_channel = everywhere(20);
  constants.tree_channel = two_rows({26.5, 18.5, 10.0}, {24.0, 23.6, 17.8});
  constants.ll128_correction = &correction_ll128;
  all.push_back(constants);

  constants.first_minor = 12;
  constants.source =
      "NCCL 2.12.12's printed times (25 of 25); what they do not show as in 2.10.3; 2.13 to 2.17: "
      "not read";
  constants.ring_hop[hop_network][2] = 28;
  constants.ring_network_detour = 1;
  constants.simple_network_latencies = 2;
  constants.asks_for_latency = true;
  all.push_back(constants);

  constants.first_minor = 18;
  constants.source =
      "latencies: NCCL 2.18 as aliyun/SimAI restates it (astra-sim-alibabacloud, MockNccl.h); the "
      "rest: 2.20.3; 2.19: not read";
  constants.tree_base = {6.8, 14.0, 0};
  constants.ring_base = {6.6, 14.0, 8.4};
  constants.tree_hop = {{{.6, 1.25, 4}, {1.0, 1.9, 6}, {5.0, 8.5, 14}}};
  constants.ring_hop = {{{.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}}};
  constants.nvls_hop = 23;
  constants.nvls_network = 18;
  constants.nvls_tree_network = 19;
  constants.collnet_direct_hop = {8.0, 8.0, 10.7};
  constants.collnet_chain_hop = {4.75, 8.0, 14};
  constants.ll_local_factor = 1;
  constants.network_overhead = true;
  constants.ampere_bus_max = 0;
  constants.ring_ll128_channel = three_rows({20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7});
  constants.tree_ll128_channel = three_rows({20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0});
  constants.tree_channel = three_rows({26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0});
  constants.plateau = 1.4;
  constants.plateau_by_channel = true;
  all.push_back(constants);

  constants.first_minor = 20;
  constants.source = "NCCL 2.20.3-1 (commit b6475625), src/graph/tuning.cc";
  constants.tree_hop = {{{.6, 1.25, 28}, {1.0, 1.9, 28}, {5.0, 8.5, 28}}};
  constants.nvls_tree_network = 14;
  constants.collnet_direct_hop = {3.7, 3.7, 31};
  constants.collnet_chain_hop = {2.8, 2.8, 30};
  all.push_back(constants);

  constants.first_minor = 21;
  constants.source = "NCCL 2.21.5-1 (commit ab2b89c4), src/graph/tuning.cc";
  constants.nvls_hop = 25;
  constants.ring_ll = constants.ring_ll_local = 0.5;
  constants.ll_max = three_rows({39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0});
  all.push_back(constants);

  constants.first_minor = 22;
  constants.source = "NCCL 2.22.3-1 (commit 178b6b75), src/graph/tuning.cc: as 2.21.5";
  constants.queues_by_channel = false;
  all.push_back(constants);

  constants.first_minor = 23;
  constants.source =
      "a src/graph/tuning.cc of 2.25 or 2.26 (it has Blackwell and PAT); 2.23, which brought PAT, "
      "and 2.24: not read";
  constants.tree_base = {6.8, 14.0, 8.4};
  constants.tree_hop = {{{.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14}}};
  constants.ring_network_detour = 0;
  constants.lone_tree_hop = true;
  constants.ll128_from_volta = true;
  constants.ring_ll128_lone = constants.ring_ll128;
  constants.ll_max = {
      {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
  constants.ring_ll128_channel[3] = {73.4, 73.4, 73.4};
  constants.tree_ll128_channel[3] = {73.4, 73.4, 58.0};
  constants.tree_channel[3] = {77.4, 82.8, 72.0};
  constants.has_pat = true;
  all.push_back(constants);

  constants.first_minor = 27;
  constants.source =
      "2.28.9's numbers, but no limit on NVLSTree and 14 us for its network hop; 2.27: not read";
  constants.ring_ll128_channel[3] = {73.4, 34.6, 73.4};
  constants.tree_ll128_channel[3] = {55.6, 31.67, 20.0};
  constants.tree_channel[3] = {70.0, 42.8, 24.0};
  constants.nvls_efficiency = {0, 0, .85, .74};
  all.push_back(constants);

  constants.first_minor = 28;
  constants.source = "NCCL 2.28.9-1, src/graph/tuning.cc (ncclTunerConstantsDefaults)";
  constants.nvls_tree_network = 20.9;
  constants.nvls_tree_channel[2] = {0, 57.7, 45.5};
  constants.nvls_tree_channel[3] = {0, 96.0, 43.8};
  all.push_back(constants);
  return all;
}

}  // namespace

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, nccl_algorithms.size()> names = {
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat", "direct"};
  return names.at(static_cast<std::size_t>(algorithm));
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, nccl_protocols.size()> names = {"ll", "ll128", "simple"};
  return names.at(static_cast<std::size_t>(protocol));
}

std::span<const NcclConstants> nccl_constants() {
  static const std::vector<NcclConstants> all = make_constants();
  return all;
}

const NcclConstants& nccl_constants(NcclVersion version) {
  const NcclConstants* found = &nccl_constants().front();
  for (const NcclConstants& entry : nccl_constants()) {
    if (entry.first_minor <= version.minor) found = &entry;
  }
  return *found;
}

double nccl_tree_correction(const NcclConstants& constants, NcclProtocol protocol,
                            std::int64_t bytes) {
  if (!constants.has_model) return 1;  // a correction of the model, not of the trees
  const auto blocks = static_cast<std::uint64_t>(bytes) >> 6U;
  if (blocks == 0) return 1;
  const auto index = static_cast<std::size_t>(std::bit_width(blocks)) - 1;
  if (index >= correction_ll.size()) return 1;
  switch (protocol) {
    case NcclProtocol::ll:
      return correction_ll[index];
    case NcclProtocol::ll128:
      return (*constants.ll128_correction)[index];
    case NcclProtocol::simple:
      return correction_simple[index];
  }
  return 1;
}

}  // namespace gradwire
