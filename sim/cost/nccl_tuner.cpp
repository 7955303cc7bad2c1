#include "sim/cost/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

namespace gradwire {
namespace {

std::size_t index_of(NcclProtocol protocol) {
  return static_cast<std::size_t>(protocol);
}

bool is_all_reduce(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce;
}

bool is_half(CollectiveKind kind) {  // half of an all-reduce
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather;
}

/// Column of NcclByArchitecture.
std::size_t machines_column(const NcclSystem& system) {
  return static_cast<std::size_t>(std::min(system.machines, 3) - 1);
}

double value_of(const NcclByArchitecture& table, const NcclSystem& system) {
  return table[static_cast<std::size_t>(system.architecture)][machines_column(system)];
}

/// LL's limit follows the GPUs on one machine, the processors on several.
double ll_max(const NcclConstants& constants, const NcclSystem& system) {
  if (system.machines == 1) return value_of(constants.ll_max, system);
  return constants.ll_max[system.amd ? 1 : 0][machines_column(system)];
}

int log2_floor(int value) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1;
}

double per_machine(const NcclSystem& system) {
  return static_cast<double>(system.ranks) / system.machines;
}

int ring_steps(CollectiveKind kind, int ranks) {
  if (is_all_reduce(kind)) return 2 * (ranks - 1);
  return is_half(kind) ? ranks - 1 : ranks;
}

int ring_network_steps(const NcclConstants& constants, CollectiveKind kind, int machines) {
  if (machines == 1) return is_all_reduce(kind) || is_half(kind) ? 0 : machines;
  if (is_all_reduce(kind)) return 2 * (machines - 1 + constants.ring_network_detour);
  return is_half(kind) ? machines - 1 + constants.half_ring_network_detour : machines;
}

/// What posting one message to the network takes (src/graph/tuning.cc, getNetOverhead), us.
double network_overhead(const NcclConstants& constants, const NcclSystem& system,
                        NcclProtocol protocol) {
  if (!constants.network_overhead || system.machines == 1) return 0;
  const double once = system.amd ? 2.0 : 1.0;
  return protocol == NcclProtocol::simple ? 3 * once : once;
}

double network_hop(const NcclConstants& constants, double hop, const NcclSystem& system,
                   const NcclQuestion& question) {
  const bool is_simple = question.protocol == NcclProtocol::simple;
  return hop + (is_simple ? constants.simple_network_latencies : 1) * system.network_latency;
}

double ring_latency(const NcclConstants& constants, const NcclSystem& system,
                    const NcclQuestion& question) {
  const std::size_t p = index_of(question.protocol);
  const bool is_across = system.machines > 1;
  if (!is_all_reduce(question.kind) && !is_half(question.kind)) {
    // One hop, where all channels have the same order of GPUs, as ours have.
    double hop = constants.ring_hop[is_across ? hop_network : system.local][p];
    if (is_across) hop = network_hop(constants, hop, system, question);
    return constants.ring_base[p] + hop;
  }
  const NcclRingHops hops = nccl_ring_hops(constants, system, question);
  return hops.base + hops.local_steps * hops.local + hops.network_steps * hops.network;
}

double collnet_latency(const NcclConstants& constants, const NcclSystem& system,
                       const NcclQuestion& question) {
  const bool is_chain = question.algorithm == NcclAlgorithm::collnet_chain;
  const auto& hop = is_chain ? constants.collnet_chain_hop : constants.collnet_direct_hop;
  const double others = per_machine(system) - 1;
  const double local =
      is_chain ? others * hop[system.local]
               : std::min(1.0, others) * hop[system.local] + others * constants.collnet_gpu;
  return 2 * local + network_hop(constants, hop[hop_network], system, question);
}

double ring_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, double bus) {
  if (question.protocol == NcclProtocol::ll) {
    const bool is_full = system.machines > 1 || is_all_reduce(question.kind) ||
                         question.kind == CollectiveKind::reduce;
    bus = std::min(ll_max(constants, system),
                   bus * (is_full ? constants.ring_ll : constants.ring_ll_local));
  }
  if (question.protocol == NcclProtocol::ll128) {
    const double share = per_machine(system) < 2 ? constants.ring_ll128_lone : constants.ring_ll128;
    bus = std::min(bus * share, system.channels * value_of(constants.ring_ll128_channel, system));
  }
  return bus * system.ranks / ring_steps(question.kind, system.ranks);
}

double tree_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, double bus) {
  bus = std::min(bus * constants.tree, system.channels * value_of(constants.tree_channel, system));
  if (question.protocol == NcclProtocol::ll) {
    constexpr double ll = 1 / 3.8;
    bus = std::min(bus * ll, ll_max(constants, system));
  }
  if (question.protocol == NcclProtocol::ll128) {
    constexpr double local = 7.0 / 9;
    bus = std::min(bus * (system.machines == 1 ? local : constants.tree_ll128_network),
                   system.channels * value_of(constants.tree_ll128_channel, system));
  }
  return 0.5 * bus * nccl_tree_correction(constants, question.protocol, question.bytes);
}

double nvls_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, double bus) {
  const double efficiency =
      constants.nvls_efficiency[static_cast<std::size_t>(system.architecture)];
  if (efficiency == 0) return bus * 5 / 6;
  bus *= efficiency * (system.channels - 1) / system.channels;
  bus *= is_all_reduce(question.kind) ? 2 : (per_machine(system) - 1) / per_machine(system);
  bus = std::min(bus, system.network_bus);
  const double channel = value_of(constants.nvls_tree_channel, system);
  if (question.algorithm == NcclAlgorithm::nvls_tree && channel > 0) {
    bus = std::min(bus, system.channels * channel);
  }
  return bus * system.ranks / ring_steps(question.kind, system.ranks);
}

double collnet_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                         const NcclQuestion& question, double bus) {
  if (question.algorithm == NcclAlgorithm::collnet_direct) {
    double gpus_per_nic = per_machine(system) / system.channels;
    gpus_per_nic -= (gpus_per_nic - 1) / 2;
    bus /= gpus_per_nic;
    if (system.architecture >= 2) bus *= constants.collnet_hopper;
  }
  return 0.5 * bus;
}

}  // namespace

bool nccl_has(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const bool is_simple = protocol == NcclProtocol::simple;
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return is_all_reduce(kind);
    case NcclAlgorithm::ring:
      return is_all_reduce(kind) || is_half(kind) || kind == CollectiveKind::broadcast ||
             kind == CollectiveKind::reduce;
    case NcclAlgorithm::nvls:
      return is_simple && (is_all_reduce(kind) || is_half(kind));
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
    case NcclAlgorithm::nvls_tree:
      return is_simple && is_all_reduce(kind);
    case NcclAlgorithm::pat:
      return is_simple && is_half(kind);
    case NcclAlgorithm::direct:
      return is_simple && (kind == CollectiveKind::all_to_all || kind == CollectiveKind::gather ||
                           kind == CollectiveKind::scatter || kind == CollectiveKind::send_recv);
  }
  return false;
}

NcclRingHops nccl_ring_hops(const NcclConstants& constants, const NcclSystem& system,
                            const NcclQuestion& question) {
  const std::size_t p = index_of(question.protocol);
  const bool is_across = system.machines > 1;
  NcclRingHops hops;
  hops.network_steps = ring_network_steps(constants, question.kind, system.machines);
  hops.local_steps = ring_steps(question.kind, system.ranks) - hops.network_steps;
  hops.local = constants.ring_hop[system.local][p];
  if (is_across && question.protocol == NcclProtocol::ll) hops.local *= constants.ll_local_factor;
  hops.local = std::max(hops.local, network_overhead(constants, system, question.protocol));
  const bool is_lone = constants.lone_tree_hop && system.ranks == system.machines;
  const NcclHops& table = is_lone ? constants.tree_hop : constants.ring_hop;
  hops.network = network_hop(constants, table[hop_network][p], system, question);
  hops.base = constants.ring_base[p];
  const double per_rank = static_cast<double>(question.bytes) / system.ranks;
  const bool is_long =
      constants.plateau_by_channel ? per_rank / system.channels >= 64 : per_rank >= 65536.0 / 16;
  if (question.protocol == NcclProtocol::simple && is_across && is_all_reduce(question.kind) &&
      is_long) {
    const double plateau =
        system.architecture == 0 ? constants.plateau_before_ampere : constants.plateau;
    hops.base *= plateau;
    hops.local *= plateau;
    hops.network *= plateau;
  }
  return hops;
}

NcclTreeHops nccl_tree_hops(const NcclSystem& system) {
  return {system.ranks / system.machines - 1, log2_floor(system.machines)};
}

double nccl_tree_chunk(const NcclSystem& system, int channels, std::int64_t bytes) {
  struct Cut {
    double chunk_min;
    int depths;  ///< as many chunks are wanted for each of the tree's hops
  };
  constexpr std::array<Cut, 3> cuts = {{{131072, 8}, {65536, 4}, {32768, 1}}};
  const NcclTreeHops hops = nccl_tree_hops(system);
  const double a_channel = static_cast<double>(bytes) / channels;
  double chunk = 524288;  // an eighth of the buffer of 4 MiB
  for (const Cut& cut : cuts) {
    while (chunk > cut.chunk_min && a_channel / chunk < cut.depths * (hops.local + hops.network)) {
      chunk /= 2;
    }
  }
  return std::min(chunk, a_channel);
}

double nccl_tree_ll128_chunk(const NcclSystem& system, int channels, std::int64_t bytes) {
  struct Cut {
    double chunk_min;
    double steps;  ///< as many chunks are wanted for each step and rank of a machine
  };
  constexpr std::array<Cut, 2> cuts = {{{131072, 64}, {32768, 16}}};
  const double ranks = per_machine(system);
  const double steps = 1 + log2_floor(system.machines) + 0.1 * ranks;
  const double a_channel = static_cast<double>(bytes) / channels;
  double chunk = 614400;  // an eighth of 120 * 640 threads * 8 steps * 8 B
  for (const Cut& cut : cuts) {
    while (chunk > cut.chunk_min && std::floor(a_channel / chunk) < steps * cut.steps / ranks) {
      chunk /= 2;
    }
  }
  return std::min(chunk, a_channel);
}

double nccl_latency(const NcclConstants& constants, const NcclSystem& system,
                    const NcclQuestion& question) {
  const std::size_t p = index_of(question.protocol);
  const bool is_across = system.machines > 1;
  const auto network = [&](double hop) { return network_hop(constants, hop, system, question); };
  switch (question.algorithm) {
    case NcclAlgorithm::ring:
      return ring_latency(constants, system, question);
    case NcclAlgorithm::tree: {
      double local = constants.tree_hop[system.local][p];
      if (is_across && question.protocol == NcclProtocol::ll) local *= constants.ll_local_factor;
      const NcclTreeHops hops = nccl_tree_hops(system);
      return constants.tree_base[p] +
             2 * (hops.local * local + hops.network * network(constants.tree_hop[hop_network][p]));
    }
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return collnet_latency(constants, system, question);
    case NcclAlgorithm::nvls:
      return constants.nvls_hop + (is_across ? network(constants.nvls_network) : 0);
    case NcclAlgorithm::nvls_tree:
      return constants.nvls_hop +
             2 * log2_floor(system.machines) * network(constants.nvls_tree_network);
    case NcclAlgorithm::pat:
      return constants.pat_base +
             log2_floor(system.machines) * network(constants.tree_hop[hop_network][p]) /
                 constants.pat_rounds_per_hop +
             constants.pat_rank * system.ranks;
    case NcclAlgorithm::direct:
      // NCCL has no model of grouped sends and receives: a ring's base and one of its hops.
      return constants.ring_base[p] + (is_across ? network(constants.ring_hop[hop_network][p])
                                                 : constants.ring_hop[system.local][p]);
  }
  return 0;
}

double nccl_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question) {
  double bus = system.bus;
  if (system.architecture >= 1 && constants.ampere_bus_max > 0) {
    bus = std::min(bus, constants.ampere_bus_max);
  }
  switch (question.algorithm) {
    case NcclAlgorithm::ring:
      return ring_bandwidth(constants, system, question, bus);
    case NcclAlgorithm::tree:
      return tree_bandwidth(constants, system, question, bus);
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return nvls_bandwidth(constants, system, question, bus);
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return collnet_bandwidth(constants, system, question, bus);
    case NcclAlgorithm::pat:
      return constants.pat_bandwidth * bus;
    case NcclAlgorithm::direct:
      return bus / bus_factor(question.kind, system.ranks);
  }
  return 0;
}

double nccl_time(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question) {
  constexpr double bytes_per_us = 1000;  // of 1 GB/s
  return nccl_latency(constants, system, question) +
         static_cast<double>(question.bytes) /
             (bytes_per_us * nccl_bandwidth(constants, system, question));
}

double nccl_tree_threshold(const NcclSystem& system) {
  constexpr double lane_bandwidth = 5000;  // B/us
  constexpr double ring_hop = 6;           // us
  constexpr double tree_local_hop = 4;
  constexpr double tree_network_hop = 15;
  const bool has_nvlink = system.local == hop_nvlink;
  const double ring_bandwidth = has_nvlink ? lane_bandwidth * system.channels : lane_bandwidth;
  double tree_bandwidth = ring_bandwidth * (has_nvlink ? 3.0 / 4 : 2.0 / 3);
  if (has_nvlink && system.machines == 2) tree_bandwidth *= 2;
  const double ring_latency = ring_hop * (system.ranks - 1);
  const double tree_latency =
      tree_network_hop * log2_floor(system.machines) + tree_local_hop * (per_machine(system) - 1);
  if (system.machines < 2 || ring_latency <= tree_latency) return 0;
  if (tree_bandwidth > ring_bandwidth) return std::numeric_limits<double>::infinity();
  return ring_bandwidth * tree_bandwidth / (ring_bandwidth - tree_bandwidth) *
         (ring_latency - tree_latency);
}

double nccl_ll_threshold(const NcclSystem& system, const NcclQuestion& question) {
  constexpr double thread_bytes = 8;  // NCCL_THREAD_THRESHOLD, twice that on several machines
  constexpr double threads = 256;     // NCCL_LL_MAX_NTHREADS
  const bool is_tree = question.algorithm == NcclAlgorithm::tree;
  // Loops work on a chunk for each rank in an all-reduce, reduce-scatter and all-gather ring.
  const bool is_chain =
      question.kind == CollectiveKind::broadcast || question.kind == CollectiveKind::reduce;
  const double chunks = is_tree || is_chain ? 1 : system.ranks;
  const double threshold = thread_bytes * (system.machines > 1 ? 2 : 1);
  const double wanted =
      std::ceil(static_cast<double>(question.bytes) / (threads * chunks * threshold));
  const double channels = std::clamp(wanted, 1.0, static_cast<double>(system.channels));
  return channels * threads * chunks * threshold * (is_tree || is_chain ? 4 : 1);
}

}  // namespace gradwire
