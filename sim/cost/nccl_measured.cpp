#include "sim/cost/nccl_measured.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "sim/cost/nccl_messages.hpp"
#include "sim/cost/nccl_nvls.hpp"
#include "sim/cost/nccl_peers.hpp"

namespace gradwire {
namespace {

constexpr double bytes_per_second = 1e9;  // of 1 GB/s
constexpr auto ll_index = static_cast<std::size_t>(NcclProtocol::ll);
constexpr auto ll128_index = static_cast<std::size_t>(NcclProtocol::ll128);
constexpr auto simple_index = static_cast<std::size_t>(NcclProtocol::simple);

/// A GPU in each machine: nothing passes on inside, and a tree's channels carry what the port does
/// (two H100 on 400 Gbit/s: 43 GB/s from 8 to 32 MiB, NVIDIA/nccl-tests issue 232).
bool is_lone(const NcclSystem& system) {
  return system.ranks == system.machines;
}

/// Puts what rings over NVLink take into NCCL's tables, and LL's hop into those of trees.
void set_nvlink_hops(NcclConstants& result, const NcclSystem& system, const NcclFacts& facts) {
  const NcclGeneration& times = result.generation(facts.capability_min);
  for (auto* hops : {&result.tree_hop, &result.ring_hop}) {
    double& hop = (*hops)[hop_nvlink][ll_index];
    hop = std::max(hop, times.ll_hop);
  }
  if (system.machines > 1) {
    if (facts.capability_min >= hopper_capability) return;
    result.ring_base[ll128_index] = times.ll128_base_across;
    result.ring_hop[hop_nvlink][ll128_index] = times.ll128_hop_across;
    return;
  }
  if (system.local != hop_nvlink) return;
  result.ring_base = {times.ll_base, times.ll128_base, times.simple_base};
  result.ring_hop[hop_nvlink] = {times.ll_hop, times.ll128_hop, times.simple_hop};
}

/// Puts what rings over PCIe inside one machine take into NCCL's tables.
void set_pcie_hops(NcclConstants& result, const NcclSystem& system, const NcclFacts& facts) {
  if (system.local != hop_pcie) return;
  if (!facts.stores_over_pcie) {
    for (auto* hops : {&result.tree_hop, &result.ring_hop}) {
      (*hops)[hop_pcie][ll_index] += result.measured.ll_host_hop;
    }
  }
  const double simple = result.generation(facts.capability_min).simple_pcie_hop;
  if (simple > 0 && facts.stores_over_pcie && system.machines == 1) {
    result.ring_hop[hop_pcie][simple_index] = simple;
  }
}

/// The model's constants, with what runs reach in their place.
NcclConstants reached(const NcclConstants& constants, const NcclSystem& system,
                      const NcclFacts& facts, NcclAlgorithm algorithm) {
  NcclConstants result = constants;
  // Of n ranks on N machines a part passes 2 (n - 1) of a ring's links, the N between machines
  // twice each unless it began next to one. NCCL has counted 2 (N - 1) and 2 N.
  const int detour = system.ranks > system.machines ? 1 : 0;
  result.ring_network_detour = result.half_ring_network_detour = detour;
  result.ampere_bus_max = 0;
  result.tree_base[ll_index] = constants.measured.tree_ll_base;
  result.tree_base[ll128_index] = result.generation(facts.capability_min).tree_ll128_base;
  // The selector's own: runs on two machines, whose ranks have one child each, show none.
  if (system.machines == 2) result.tree_ll128_correction.fill(1);
  result.ring_ll = result.ring_ll_local = constants.measured.ll;
  result.simple_network_latencies = 1;
  result.ring_ll128 = result.ring_ll128_lone = 1;  // of the bus that `bus` gives it
  result.lone_tree_hop = true;
  if (is_lone(system)) {
    for (auto* table : {&result.tree_channel, &result.tree_ll128_channel}) {
      for (auto& row : *table) row.fill(std::numeric_limits<double>::infinity());
    }
  }
  for (auto& row : result.ring_ll128_channel) row.fill(std::numeric_limits<double>::infinity());
  if (system.machines > 1) {
    for (auto* hops : {&result.tree_hop, &result.ring_hop}) {
      for (const NcclHop hop : {hop_nvlink, hop_pcie}) {
        (*hops)[hop][ll_index] *= result.ll_local_factor;
      }
    }
  }
  result.ll_local_factor = 1;  // is in the hops
  // Of grouped sends and receives no hop was measured.
  if (algorithm != NcclAlgorithm::direct) {
    set_nvlink_hops(result, system, facts);
    set_pcie_hops(result, system, facts);
  }
  for (std::size_t hop = 0; hop < result.tree_hop.size(); ++hop) {
    result.tree_hop[hop][simple_index] = constants.measured.tree_simple_hop[hop];
  }
  return result;
}

/// Seconds that a byte of the collective takes on a flow's connections.
Seconds connected_per_byte(const NcclConstants& constants, const NcclFacts& facts) {
  if (constants.several_connections) return facts.connected_per_byte;
  if (constants.rings_on_a_port == 0) return facts.lone_connection_per_byte;
  const int rings = facts.nvlink_per_byte.count() > 0 ? constants.nvlink_rings_on_a_port
                                                      : constants.rings_on_a_port;
  const Seconds connected = (1.0 / rings) * facts.port_connection_per_byte;
  if (constants.socket_thread.count() == 0) return connected;
  return std::max(connected, Seconds{facts.socket_share / constants.socket_thread.count()});
}

/// Seconds that a byte of the collective takes on the busiest of the links that are not NVLink, or
/// on a flow's connections.
Seconds other_per_byte(const NcclConstants& constants, const NcclFacts& facts) {
  return std::max(facts.other_per_byte, connected_per_byte(constants, facts));
}

/// Of a pattern's traffic between machines, what NCCL's algorithm sends.
double network_share(const NcclSystem& system, const NcclQuestion& question) {
  return question.algorithm == NcclAlgorithm::tree ? tree_network(system.machines) : 1;
}

/// Seconds that the busiest link takes for a byte of the collective, by protocol.
Seconds per_byte(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, const NcclFacts& facts) {
  if (question.algorithm == NcclAlgorithm::ring && question.protocol == NcclProtocol::ll128) {
    const double nvlink = facts.capability_min < hopper_capability ? constants.measured.ll128_nvlink
                                                                   : constants.ring_ll128;
    return std::max((1 / nvlink) * facts.nvlink_per_byte,
                    (1 / constants.measured.ll128_other) * other_per_byte(constants, facts));
  }
  const double network = question.protocol == NcclProtocol::ll && !is_lone(system)
                             ? 1  // LL's proxies take longer than the halves on the links
                             : network_share(system, question);
  const bool counts_inside = question.protocol == NcclProtocol::simple || is_lone(system);
  return std::max((counts_inside ? network : 1) * facts.nvlink_per_byte,
                  network * other_per_byte(constants, facts));
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

/// us for all bytes, where the pattern's own loads say it: no model of NCCL's is needed.
double bytes_on_links(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, const NcclFacts& facts) {
  const double size = static_cast<double>(question.bytes) * us_per_second;
  const double nvlinks = is_nvls(question.algorithm)
                             ? nccl_nvls_links(constants, system, question, facts)
                             : size * facts.nvlink_per_byte.count();
  return std::max(nvlinks, size * other_per_byte(constants, facts).count());
}

/// A ring that the bytes of one rank pass once: n - 1 hops, where NCCL counts one.
bool is_chain(const NcclQuestion& question) {
  return question.algorithm == NcclAlgorithm::ring &&
         (question.kind == CollectiveKind::broadcast || question.kind == CollectiveKind::reduce);
}

/// us for the first bytes of a broadcast or a reduction to pass a ring.
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
  const double hop = constants.tree_hop[hop_network][simple_index] / constants.pat_rounds_per_hop;
  return constants.pat_base + levels(system) * (hop + system.network_latency) +
         constants.pat_rank * system.ranks;
}

/// us for the first bytes to pass the hops, and to start.
double real_latency(const NcclConstants& constants, const NcclSystem& system,
                    const NcclQuestion& question, const NcclFacts& facts) {
  const double counted = nccl_latency(constants, system, question);
  const int not_counted = levels(system) - nccl_tree_hops(system).network;
  const auto level = [&](double hop) { return 2 * not_counted * (hop + system.network_latency); };
  switch (question.algorithm) {
    case NcclAlgorithm::ring:
      return is_chain(question) ? chain_latency(constants, system, question.protocol) : counted;
    case NcclAlgorithm::pat:
      return pat_latency(constants, system);
    case NcclAlgorithm::nvls:
      return constants.generation(facts.capability_min).nvls_base;
    case NcclAlgorithm::tree:
      return counted +
             level(constants.tree_hop[hop_network][static_cast<std::size_t>(question.protocol)]);
    case NcclAlgorithm::nvls_tree:
      return counted + level(constants.nvls_tree_network) +
             2 * levels(system) * constants.measured.nvls_tree_latencies * system.network_latency;
    default:
      return counted;
  }
}

/// us that the busiest rank's proxy takes to look at all flags of LL.
double flags_time(const NcclConstants& constants, const NcclSystem& system,
                  const NcclQuestion& question, const NcclFacts& facts) {
  const double sent = network_share(system, question) * facts.sent_share;
  return sent * static_cast<double>(question.bytes) / constants.measured.ll_proxy.count() *
         us_per_second;
}

/// us that a rank's thread takes for what it exchanges over EFA by way of host memory.
double exchange_time(const NcclConstants& constants, const NcclQuestion& question,
                     const NcclFacts& facts) {
  const bool copies = facts.is_efa && facts.staged_per_byte.count() > 0;
  if (!copies || constants.efa_thread.count() == 0) return 0;
  const double flags = question.protocol == NcclProtocol::ll ? 2 : 1;
  return flags * facts.exchanged_share * static_cast<double>(question.bytes) /
         constants.efa_thread.count() * us_per_second;
}

/// Of a ring's parts but the first, those that are not empty.
double filled_parts(const NcclSystem& system, const NcclQuestion& question) {
  constexpr std::int64_t part_min = 16;                       // bytes, NcclConstants::small_parts
  if (question.kind != CollectiveKind::all_reduce) return 1;  // each rank has its own
  const std::int64_t others = std::max(1, system.ranks - 1);
  const std::int64_t filled = (question.bytes + part_min - 1) / part_min - 1;
  return static_cast<double>(std::min(filled, others)) / static_cast<double>(others);
}

/// us that LL's hops take beyond those of a single line: each thread of a channel sends one, 8 B of
/// data, or several after each other. Over PCIe it was not measured: 0.
double lines_latency(const NcclConstants& constants, const NcclSystem& system,
                     const NcclQuestion& question, const NcclFacts& facts) {
  constexpr double lines_of_all_threads = 512 * 8;  // bytes of data
  if (question.bytes == 0) return 0;
  const bool is_tree = question.algorithm == NcclAlgorithm::tree;
  double hops_local = 0;
  double hops_network = 0;
  double bytes = static_cast<double>(question.bytes) / nccl_channels_at_work(system, question);
  if (is_tree) {
    hops_local = 2 * nccl_tree_hops(system).local;
    hops_network = 2 * levels(system);
  } else if (is_chain(question)) {
    hops_network = system.machines - 1;
    hops_local = system.ranks - 1 - hops_network;
  } else {
    const NcclRingHops hops = nccl_ring_hops(constants, system, question);
    hops_local = hops.local_steps;
    hops_network = hops.network_steps;
    bytes /= system.ranks;
  }
  const double lines = std::min(1.0, bytes / lines_of_all_threads);
  const bool is_cut = constants.small_parts && system.machines == 1 && !is_chain(question);
  const double parts = is_tree ? 1 : is_cut ? filled_parts(system, question) : lines;
  const NcclGeneration& times = constants.generation(facts.capability_min);
  const double counted = (is_tree ? constants.tree_hop : constants.ring_hop)[hop_nvlink][ll_index];
  const double passing = std::max(0.0, times.ll_hop + times.ll_parts - counted);
  const double local = system.local == hop_nvlink ? parts * passing + lines * times.ll_lines : 0;
  return hops_local * local + hops_network * lines * constants.measured.ll_network_lines;
}

/// us that a tree's first chunk takes to be put on the links of its hops. Inside a machine LL128
/// passes line by line; between machines a proxy sends what is complete.
double chunk_latency(const NcclConstants& constants, const NcclSystem& system,
                     const NcclQuestion& question, const NcclFacts& facts) {
  if (question.algorithm != NcclAlgorithm::tree || question.protocol == NcclProtocol::ll) return 0;
  const bool by_lines = question.protocol == NcclProtocol::ll128;
  const int channels = nccl_channels_at_work(system, question);
  const double chunk = by_lines ? nccl_tree_ll128_chunk(system, channels, question.bytes)
                                : nccl_tree_chunk(system, channels, question.bytes);
  const double chunks = channels * chunk;
  const int local_hops = by_lines ? 0 : nccl_tree_hops(system).local;
  const Seconds local = system.local == hop_nvlink ? facts.nvlink_per_byte : facts.pcie_per_byte;
  const Seconds network = (1 / tree_traffic(system.machines)) * other_per_byte(constants, facts);
  return 2 * chunks * (local_hops * local + levels(system) * network).count() * us_per_second;
}

/// us that NCCL counts for a Simple ring and that do not pass by themselves: what the network's
/// hops, or inside one machine those of stores over PCIe, take while other slices move, and what
/// NCCL adds to the hops inside one of several machines (posting to the network, a "plateau").
/// @param moving  us for all bytes
double not_waited_for(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, const NcclFacts& facts, double moving) {
  const bool is_ring = question.algorithm == NcclAlgorithm::ring &&
                       question.protocol == NcclProtocol::simple && !is_chain(question);
  if (!is_ring) return 0;
  const NcclRingHops hops = nccl_ring_hops(constants, system, question);
  const double others = (1 - 1.0 / constants.measured.slices_on_a_port) * moving /
                        (hops.local_steps + hops.network_steps);
  const double local = constants.ring_hop[system.local][simple_index];
  if (system.machines == 1) {
    const bool hides =
        facts.stores_over_pcie && constants.generation(facts.capability_min).simple_pcie_hop == 0;
    return hides ? hops.local_steps * std::min(local, others) : 0;
  }
  return hops.local_steps * (hops.local - local) +
         hops.network_steps * std::min(hops.network, others);
}

/// us of the host to fill the queues of one GPU's channels but the first.
double queue_time(const NcclConstants& constants, const NcclSystem& system,
                  const NcclQuestion& question, const NcclFacts& facts) {
  if (!constants.queues_by_channel || peers_of(question, system.ranks) > 0) return 0;
  int channels = nccl_channels_at_work(system, question);
  if (question.algorithm == NcclAlgorithm::nvls) {
    channels = std::min(channels, constants.generation(facts.capability_min).nvls_channels);
  }
  return (channels - 1) * constants.measured.channel_host;
}

/// us of the host between one call and the next.
double host_time(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, const NcclFacts& facts, int gpus_per_process) {
  const int peers = peers_of(question, system.ranks);
  return gpus_per_process * (constants.measured.launch + peers * constants.measured.peer_host +
                             queue_time(constants, system, question, facts));
}

bool is_priced_by_links(NcclAlgorithm algorithm) {
  return algorithm != NcclAlgorithm::ring && algorithm != NcclAlgorithm::tree;
}

}  // namespace

double nccl_measured_time(const NcclConstants& constants, const NcclSystem& system,
                          const NcclQuestion& question, const NcclFacts& facts,
                          int gpus_per_process, double channel_share) {
  const NcclConstants real = reached(constants, system, facts, question.algorithm);
  NcclSystem alone = system;
  if (constants.sends_lengths_ahead) {
    alone.network_latency +=
        constants.measured.length_messages * facts.kernel_latency.count() * us_per_second;
  }
  alone.network_latency += nccl_staging_latency(constants, system, question, facts) +
                           nccl_rendezvous(constants, system, question, facts);
  const double seconds = per_byte(constants, system, question, facts).count() / channel_share;
  double moving = 0;
  if (is_priced_by_links(question.algorithm)) {
    const bool is_grouped = question.algorithm == NcclAlgorithm::direct;
    moving = bytes_on_links(constants, system, question, facts) / channel_share;
    if (is_grouped) {
      moving = std::max(moving / constants.measured.peer_share,
                        nccl_peers_moving(constants, system, question, facts));
    }
  } else {
    // The bus that would move a byte in that time.
    const double traffic = question.algorithm == NcclAlgorithm::tree
                               ? tree_traffic(system.machines)
                               : bus_factor(question.kind, system.ranks);
    alone.bus = traffic / seconds / bytes_per_second;
    moving = static_cast<double>(question.bytes) / (1e3 * nccl_bandwidth(real, alone, question));
  }
  moving = std::max({moving, nccl_messages_in_turn(constants, system, question, facts),
                     exchange_time(constants, question, facts)});
  const bool copies = question.algorithm == NcclAlgorithm::ring &&
                      question.protocol == NcclProtocol::simple &&
                      facts.memory_bandwidth.count() > 0;
  if (copies) {
    moving += constants.measured.memory_passes * static_cast<double>(question.bytes) /
              system.ranks / facts.memory_bandwidth.count() * us_per_second;
  }
  // NCCL plans with the port's speed and does not know what its thread can copy.
  if (constants.sockets_by_proxy) {
    moving = std::max(
        moving, static_cast<double>(question.bytes) * facts.proxy_per_byte.count() * us_per_second);
  }
  const int peers = peers_of(question, system.ranks);
  const double host = host_time(constants, system, question, facts, gpus_per_process);
  // A process fills the queues of one GPU after the other, and the last one's kernel is waited for:
  // not along a chain, whose bytes take as long to get there.
  const double stagger =
      is_chain(question) ? 0
                         : (gpus_per_process - 1) * queue_time(constants, system, question, facts);
  const double latency = real_latency(real, alone, question, facts) + stagger +
                         peers * constants.measured.peer +
                         chunk_latency(constants, system, question, facts) +
                         nccl_nvls_fill(constants, system, question, facts, levels(system),
                                        other_per_byte(constants, facts)) -
                         not_waited_for(real, alone, question, facts, moving);
  if (question.protocol == NcclProtocol::ll) {
    moving = std::max({moving, lines_latency(real, system, question, facts),
                       flags_time(real, system, question, facts)});
  }
  return peers > 0 ? std::max(host, latency) + moving : std::max(host, latency + moving);
}

}  // namespace gradwire
