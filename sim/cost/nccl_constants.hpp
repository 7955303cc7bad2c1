#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gradwire {

/// A release of NCCL, without its patch level.
struct NcclVersion {
  int major = 2;
  int minor = 28;
  auto operator<=>(const NcclVersion&) const = default;
};

/// How NCCL moves a collective, in the order of its own table.
enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  direct,  ///< grouped send and receive: no algorithm of NCCL's table
};
/// How NCCL tells the receiver that data are there: a flag in each 8 bytes, in each 128, or a
/// counter behind a chunk.
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };

[[nodiscard]] std::string_view name_of(NcclAlgorithm algorithm);  ///< as in algorithms()
[[nodiscard]] std::string_view name_of(NcclProtocol protocol);    ///< "ll", "ll128", "simple"
inline constexpr std::array nccl_algorithms = {
    NcclAlgorithm::tree,          NcclAlgorithm::ring,  NcclAlgorithm::collnet_direct,
    NcclAlgorithm::collnet_chain, NcclAlgorithm::nvls,  NcclAlgorithm::nvls_tree,
    NcclAlgorithm::pat,           NcclAlgorithm::direct};
inline constexpr std::array nccl_protocols = {NcclProtocol::ll, NcclProtocol::ll128,
                                              NcclProtocol::simple};

/// The kind of a hop: that of its slowest link. Index into NcclHops.
enum NcclHop : std::size_t { hop_nvlink, hop_pcie, hop_network };

/// One number for each protocol, in NCCL's own units (us or GB/s), as in its source.
using NcclByProtocol = std::array<double, 3>;
/// us for each kind of hop and protocol.
using NcclHops = std::array<NcclByProtocol, 3>;
/// GB/s by architecture of the GPUs (Volta and before, Ampere, Hopper, Blackwell) and by number of
/// machines (1, 2, more).
using NcclByArchitecture = std::array<std::array<double, 3>, 4>;
/// Factors on a tree's bandwidth by size: 64 B, 128 B, ... 256 MiB; 1 above.
using NcclTreeCorrection = std::array<double, 23>;

/// What NCCL's own cost model counts with, in one range of versions. Latencies in us, bandwidths in
/// GB/s (1e9 B/s), so that they can be held against the source.
struct NcclConstants {
  int first_minor = 0;      ///< of NCCL 2; good up to the next entry
  std::string_view source;  ///< file and version that was read, and what it stands for
  bool has_model = true;    ///< false: trees by a threshold, LL by another (2.4)
  NcclByProtocol tree_base{};
  NcclByProtocol ring_base{};
  NcclHops tree_hop{};
  NcclHops ring_hop{};
  double nvls_hop = 0;  ///< inside a machine
  double nvls_network = 0;
  double nvls_tree_network = 0;
  double pat_base = 8;
  NcclByProtocol collnet_direct_hop{};  ///< Simple: NVLink, PCIe, network
  NcclByProtocol collnet_chain_hop{};
  double ll_local_factor = 1;   ///< on a local hop of LL when there are several machines
  int ring_network_detour = 0;  ///< an all-reduce ring counts 2 (machines - 1 + this) network hops
  int half_ring_network_detour = 0;  ///< a reduce-scatter or all-gather ring machines - 1 + this
  /// Times that a network hop of Simple counts the network's own latency: twice from 2.12 on, for
  /// the flush after a receive.
  double simple_network_latencies = 1;
  /// The network's latency is the one that its plug-in states (ncclNetProperties_v5_t).
  bool asks_for_latency = false;
  /// A ring over machines of one rank each counts a tree's network hops: "latencies are fully
  /// exposed".
  bool lone_tree_hop = false;
  bool ll128_from_volta = false;  ///< on every generation; before, on 7.0, 8.0, 9.0 and 10.0 up
  bool network_overhead = false;  ///< a local hop takes at least what posting to the network does
  double ampere_bus_max = 0;      ///< 0: none
  double ring_ll = 0;             ///< of the bus bandwidth
  double ring_ll_local = 0;       ///< same, inside one machine, where nothing is reduced twice
  double ring_ll128 = 0.92;       ///< of the bus bandwidth
  double ring_ll128_lone = 0.7;   ///< the same, where a machine's one rank sends and receives
  double tree = 0.92;
  double tree_ll128_network = 0;  ///< of a tree's bandwidth over several machines
  NcclByArchitecture ll_max{};    ///< bus bandwidth
  NcclByArchitecture ring_ll128_channel{};
  NcclByArchitecture tree_ll128_channel{};
  NcclByArchitecture tree_channel{};
  std::array<double, 4> nvls_efficiency{};  ///< by architecture; 0: the older 5/6 of the bus
  NcclByArchitecture nvls_tree_channel{};   ///< 0: none
  const NcclTreeCorrection* ll128_correction = nullptr;
  double plateau_before_ampere = 1.9;  ///< on the latency of a Simple all-reduce ring
  double plateau = 1.9;
  bool plateau_by_channel = false;  ///< begins at 64 B a channel and rank; else at 4 KiB a rank
  bool has_pat = false;
  bool has_trees = true;
  /// Over sockets a message's length goes ahead on a connection of its own, and only when it has
  /// come does the receiver ask for the data (src/transport/net_socket.cc, commit 06abb3b7 of 2019,
  /// ncclSocketTest). NCCL's own model does not count it.
  bool sends_lengths_ahead = true;
  /// The host's time for a launch grows with the kernel's channels: until 2.11 it writes each
  /// channel's work into a queue of that channel (src/enqueue.cc, getNextOp); a table of 2.19.3
  /// grows alike (a100-printed2.19-1n of collectives.yaml), one of 2.22.3 does not
  /// (odissei-h100-1n).
  bool queues_by_channel = true;
  /// A rank's network thread serves its sockets itself, sends and receives, where one connection is
  /// opened (src/transport/net_socket.cc, autoNt = 0); before, each connection had a thread.
  bool sockets_by_proxy = false;
  /// A channel may open several connections to a peer where a cloud's adapter needs them (2.4.8's
  /// notes: NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD, set by the adapter's vendor); before,
  /// it opens one (src/transport/net_socket.cc of 2.4.2).
  bool several_connections = false;
};

/// All ranges of versions, oldest first.
[[nodiscard]] std::span<const NcclConstants> nccl_constants();
/// Those of a version. Versions before the first range take the first one's.
[[nodiscard]] const NcclConstants& nccl_constants(NcclVersion version);

/// The factor of a tree's bandwidth. REQUIRES: bytes >= 0.
[[nodiscard]] double nccl_tree_correction(const NcclConstants& constants, NcclProtocol protocol,
                                          std::int64_t bytes);

}  // namespace gradwire
