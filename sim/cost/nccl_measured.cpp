#include "sim/cost/nccl_measured.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>

#include "sim/cost/nccl_messages.hpp"

namespace gradwire {
namespace {

constexpr double us_per_second = 1e6;
constexpr double bytes_per_second = 1e9;  // of 1 GB/s
constexpr int hopper_capability = 90;
constexpr auto ll128_index = static_cast<std::size_t>(NcclProtocol::ll128);
constexpr auto simple_index = static_cast<std::size_t>(NcclProtocol::simple);

/// A GPU in each machine: nothing passes on inside, and a tree's channels carry what the port does
/// (two H100 on 400 Gbit/s: 43 GB/s from 8 to 32 MiB, NVIDIA/nccl-tests issue 232).
bool is_lone(const NcclSystem& system) {
  return system.ranks == system.machines;
}

/// The model's constants, with what runs reach in their place.
NcclConstants reached(const NcclConstants& constants, const NcclSystem& system,
                      const NcclFacts& facts) {
  NcclConstants result = constants;
  // Of n ranks on N machines a part passes 2 (n - 1) of a ring's links, the N between machines
  // twice each unless it began next to one. NCCL has counted 2 (N - 1) and 2 N.
  const int detour = system.ranks > system.machines ? 1 : 0;
  result.ring_network_detour = result.half_ring_network_detour = detour;
  result.ampere_bus_max = 0;
  result.ring_ll = result.ring_ll_local = nccl_measured.ll;
  result.simple_network_latencies = 1;
  result.ring_ll128 = result.ring_ll128_lone = 1;  // of the bus that `bus` gives it
  result.lone_tree_hop = true;
  if (is_lone(system)) {
    for (auto* table : {&result.tree_channel, &result.tree_ll128_channel}) {
      for (auto& row : *table) row.fill(std::numeric_limits<double>::infinity());
    }
  }
  for (auto& row : result.ring_ll128_channel) row.fill(std::numeric_limits<double>::infinity());
  if (facts.capability_min < hopper_capability) {
    result.ring_base[ll128_index] = nccl_measured.ll128_base_us;
    result.ring_hop[hop_nvlink][ll128_index] = nccl_measured.ll128_nvlink_hop_us;
  }
  for (std::size_t hop = 0; hop < result.tree_hop.size(); ++hop) {
    result.tree_hop[hop][simple_index] = nccl_measured.tree_simple_hop_us[hop];
  }
  return result;
}

/// Seconds that a byte of the collective takes on the busiest of the links that are not NVLink, or
/// on a flow's connections.
Seconds other_per_byte(const NcclFacts& facts) {
  return std::max(facts.other_per_byte, facts.connected_per_byte);
}

/// Seconds that the busiest link takes for a byte of the collective, by protocol.
Seconds per_byte(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, const NcclFacts& facts) {
  if (question.algorithm == NcclAlgorithm::ring && question.protocol == NcclProtocol::ll128) {
    const double nvlink = facts.capability_min < hopper_capability ? nccl_measured.ll128_nvlink
                                                                   : constants.ring_ll128;
    return std::max((1 / nvlink) * facts.nvlink_per_byte,
                    (1 / nccl_measured.ll128_other) * other_per_byte(facts));
  }
  const bool counts_inside = question.algorithm == NcclAlgorithm::tree &&
                             (question.protocol == NcclProtocol::simple || is_lone(system));
  const double network = counts_inside ? tree_network(system.machines) : 1;
  return network * std::max(facts.nvlink_per_byte, other_per_byte(facts));
}

/// Ranks that one rank exchanges with in a group, at most; 0 where nothing is grouped.
int peers_of(const NcclQuestion& question, int ranks) {
  if (question.algorithm != NcclAlgorithm::direct) return 0;
  return question.kind == CollectiveKind::send_recv ? 1 : ranks - 1;
}

/// Levels of a tree over the machines, and rounds of a PAT; NCCL's model rounds them down.
int levels(const NcclSystem& system) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(system.machines - 1)));
}

bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
}

/// us for all bytes, where the pattern's own loads say it: no model of NCCL's is needed.
double bytes_on_links(const NcclSystem& system, const NcclQuestion& question,
                      const NcclFacts& facts) {
  Seconds nvlink = facts.nvlink_per_byte;
  if (is_nvls(question.algorithm)) {
    // One of the channels works for the others (NCCL v2.28.9, src/graph/tuning.cc).
    const double share = nccl_measured.nvls * (system.channels - 1) / system.channels;
    nvlink = (1 / share) * nvlink;
  }
  return static_cast<double>(question.bytes) * std::max(nvlink, other_per_byte(facts)).count() *
         us_per_second;
}

/// us for the first bytes of a broadcast or a reduction to pass a ring: n - 1 hops, where NCCL
/// counts one.
double chain_latency(const NcclConstants& constants, const NcclSystem& system,
                     NcclProtocol protocol) {
  const auto p = static_cast<std::size_t>(protocol);
  const auto& hops = constants.ring_hop;
  const int network_hops = system.machines - 1;
  const int local_hops = system.ranks - 1 - network_hops;
  return constants.ring_base[p] + local_hops * hops[system.local][p] +
         network_hops * (hops[hop_network][p] + system.network_latency);
}

/// us of a PAT: each round waits for the network, though not for a whole hop of NCCL's.
double pat_latency(const NcclConstants& constants, const NcclSystem& system) {
  const double hop = constants.tree_hop[hop_network][simple_index] / nccl_pat_rounds_per_hop;
  return constants.pat_base + levels(system) * (hop + system.network_latency) +
         nccl_pat_rank_us * system.ranks;
}

/// us for the first bytes to pass the hops, and to start.
double real_latency(const NcclConstants& constants, const NcclSystem& system,
                    const NcclQuestion& question) {
  const double counted = nccl_latency(constants, system, question);
  const int not_counted = levels(system) - nccl_tree_hops(system).network;
  const auto level = [&](double hop) { return 2 * not_counted * (hop + system.network_latency); };
  switch (question.algorithm) {
    case NcclAlgorithm::ring:
      if (question.kind != CollectiveKind::broadcast && question.kind != CollectiveKind::reduce) {
        return counted;
      }
      return chain_latency(constants, system, question.protocol);
    case NcclAlgorithm::pat:
      return pat_latency(constants, system);
    case NcclAlgorithm::tree:
      return counted +
             level(constants.tree_hop[hop_network][static_cast<std::size_t>(question.protocol)]);
    case NcclAlgorithm::nvls_tree:
      return counted + level(constants.nvls_tree_network) +
             2 * levels(system) * nccl_measured.nvls_tree_latencies * system.network_latency;
    default:
      return counted;
  }
}

/// us that a Simple tree's first chunk takes to be put on the links of its hops.
double chunk_latency(const NcclSystem& system, const NcclQuestion& question,
                     const NcclFacts& facts) {
  if (question.algorithm != NcclAlgorithm::tree || question.protocol != NcclProtocol::simple) {
    return 0;
  }
  const int channels = nccl_channels_at_work(system, question);
  const double chunks = channels * nccl_tree_chunk(system, channels, question.bytes);
  const int local_hops = nccl_tree_hops(system).local;
  const Seconds local = system.local == hop_nvlink ? facts.nvlink_per_byte : facts.pcie_per_byte;
  const Seconds network = (1 / tree_traffic(system.machines)) * other_per_byte(facts);
  return 2 * chunks * (local_hops * local + levels(system) * network).count() * us_per_second;
}

/// Bytes of the size that are under way at once in an NVLSTree: a chunk on each channel and head
/// (v2.28, src/enqueue.cc, calcCollChunking; NCCL_NVLS_CHUNKSIZE, from four machines on
/// NVLSTREE_MAX_CHUNKSIZE). Channels: those of NVLS on Hopper (src/transport/nvls.cc).
double nvls_tree_chunks(const NcclSystem& system, double bytes) {
  constexpr double channels = 16;
  constexpr double kib = 1024;
  const double heads = static_cast<double>(system.ranks) / system.machines;
  double chunk = (system.machines < 4 ? 128 : 64) * kib;
  if (bytes < 4 * channels * heads * chunk) chunk = std::min(chunk, 64 * kib);
  if (bytes < channels * heads * chunk) chunk = std::min(chunk, 32 * kib);
  return std::min(bytes, channels * heads * chunk);
}

/// us that an NVLSTree's first chunks take to pass its stages: reduced and spread by the switches,
/// up and down the levels; one of them, the slowest, is in the time for all bytes.
double fill_latency(const NcclSystem& system, const NcclQuestion& question,
                    const NcclFacts& facts) {
  if (question.algorithm != NcclAlgorithm::nvls_tree) return 0;
  const Seconds network = (1 / tree_traffic(system.machines)) * other_per_byte(facts);
  const Seconds local = 0.5 * facts.nvlink_per_byte;
  const Seconds all = 2 * levels(system) * network + 2 * local - std::max(network, local);
  return nvls_tree_chunks(system, static_cast<double>(question.bytes)) * all.count() *
         us_per_second;
}

/// us that NCCL counts for a Simple ring over several machines and that do not pass by themselves:
/// what the network's hops take while other slices move, and what NCCL adds to the hops inside a
/// machine (posting to the network, a "plateau").
/// @param moving  us for all bytes
double not_waited_for(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, double moving) {
  const bool is_ring =
      question.algorithm == NcclAlgorithm::ring && question.protocol == NcclProtocol::simple &&
      question.kind != CollectiveKind::broadcast && question.kind != CollectiveKind::reduce;
  if (!is_ring || system.machines == 1) return 0;
  const NcclRingHops hops = nccl_ring_hops(constants, system, question);
  const double others =
      (1 - 1.0 / nccl_measured.slices_on_a_port) * moving / (hops.local_steps + hops.network_steps);
  const double local = constants.ring_hop[system.local][simple_index];
  return hops.local_steps * (hops.local - local) +
         hops.network_steps * std::min(hops.network, others);
}

/// us of the host between one call and the next.
double host_time(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, int gpus_per_process) {
  const int peers = peers_of(question, system.ranks);
  double us = nccl_measured.launch_us + peers * nccl_measured.peer_host_us;
  if (constants.queues_by_channel && peers == 0) {
    us += (nccl_channels_at_work(system, question) - 1) * nccl_measured.channel_host_us;
  }
  return gpus_per_process * us;
}

bool is_priced_by_links(NcclAlgorithm algorithm) {
  return algorithm != NcclAlgorithm::ring && algorithm != NcclAlgorithm::tree;
}

}  // namespace

std::span<const NcclFit> nccl_fits() {
  static constexpr std::array<NcclFit, 12> fits = {{
      {"ll128_nvlink", "wohlbier-dgx2-12gpu-all_reduce", "2 MiB to 16 MiB"},
      {"ll128_base_us", "wohlbier-dgx2-12gpu-all_reduce", "2 MiB to 16 MiB"},
      {"ll128 of Hopper", "odissei-h100-1n-all_reduce", "4 MiB and 8 MiB"},
      {"ll128_nvlink_hop_us", "vtrain-v100-8gpu-all_reduce", "1 MiB to 8 MiB"},
      {"launch_us", "superbench-a100-1n-all_reduce", "below 32 KiB"},
      {"channel_host_us", "superbench-a100-1n-all_gather", "128 KiB to 1 MiB"},
      {"peer_host_us", "superbench-a100-1n-alltoall", "below 256 KiB"},
      {"peer_us", "alcf-sophia-n2-env2-alltoall", "below 256 KiB"},
      {"host_bridge_share", "alcf-polaris-nccl2.18-n2-env4-all_reduce", "from 8 MiB on"},
      {"memory_passes", "vtrain-a100-2gpu-all_reduce", "all"},
      {"late_message of slingshot_11", "alcf-polaris-nccl2.18-n8-env4-all_gather",
       "512 KiB to 32 MiB"},
      {"nvls_tree_latencies", "aws-p5-2n-all_reduce", "32 MiB and 64 MiB"},
  }};
  return fits;
}

double nccl_measured_time(const NcclConstants& constants, const NcclSystem& system,
                          const NcclQuestion& question, const NcclFacts& facts,
                          int gpus_per_process, double channel_share) {
  const NcclConstants real = reached(constants, system, facts);
  NcclSystem alone = system;
  if (constants.sends_lengths_ahead) {
    alone.network_latency +=
        nccl_measured.length_messages * facts.kernel_latency.count() * us_per_second;
  }
  const double seconds = per_byte(constants, system, question, facts).count() / channel_share;
  double moving = 0;
  if (is_priced_by_links(question.algorithm)) {
    moving = bytes_on_links(system, question, facts) / channel_share;
  } else {
    // The bus that would move a byte in that time.
    const double traffic = question.algorithm == NcclAlgorithm::tree
                               ? tree_traffic(system.machines)
                               : bus_factor(question.kind, system.ranks);
    alone.bus = traffic / seconds / bytes_per_second;
    moving = static_cast<double>(question.bytes) / (1e3 * nccl_bandwidth(real, alone, question));
  }
  const bool copies = question.algorithm == NcclAlgorithm::ring &&
                      question.protocol == NcclProtocol::simple &&
                      facts.memory_bandwidth.count() > 0;
  if (copies) {
    moving += nccl_measured.memory_passes * static_cast<double>(question.bytes) / system.ranks /
              facts.memory_bandwidth.count() * us_per_second;
  }
  // NCCL plans with the port's speed and does not know what its thread can copy.
  if (constants.sockets_by_proxy) {
    moving = std::max(
        moving, static_cast<double>(question.bytes) * facts.proxy_per_byte.count() * us_per_second);
  }
  const int peers = peers_of(question, system.ranks);
  const double host = host_time(constants, system, question, gpus_per_process);
  const double latency = real_latency(real, alone, question) + peers * nccl_measured.peer_us +
                         chunk_latency(system, question, facts) +
                         fill_latency(system, question, facts) -
                         not_waited_for(real, alone, question, moving);
  return peers > 0 ? std::max(host, latency) + moving : std::max(host, latency + moving);
}

}  // namespace gradwire
