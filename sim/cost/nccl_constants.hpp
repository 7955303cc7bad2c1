#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/units.hpp"

namespace gradwire {

// Compute capability x 10 (CUDA C++ Programming Guide, "Compute Capabilities").
inline constexpr int ampere_capability = 80;
inline constexpr int hopper_capability = 90;
inline constexpr int blackwell_capability = 100;

inline constexpr double us_per_second = 1e6;

/// A release of NCCL, without its patch level.
struct NcclVersion {
  int major = 2;
  int minor = 28;
  int patch = 0;
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

/// NCCL chooses by its own model, whose times are those of a selector: optimistic below some MiB.
/// What runs take beyond it, in any release. Times in us. Values, with what each was fitted on:
/// profiles/libraries/nccl/all.yaml.
struct NcclMeasured {
  /// Of the bus, what LL's data get beside their flags: 4 bytes with each 4 bytes.
  double ll = 0;
  /// Of NVLink's rate, for LL128 before Hopper: its threads load and store every line, and do not
  /// keep up. Hopper's do: what NCCL counts (NcclConstants::ring_ll128) holds.
  double ll128_nvlink = 0;
  double ll128_other = 0;  ///< of the other links' rate: 120 of 128 bytes are payload
  /// More that a hop between machines takes LL where a channel's 512 threads send a line each,
  /// 4 KiB of data, and not one of them: NCCL's proxy looks at every line's flag before it sends
  /// (src/transport/net.cc, sendProxyProgress).
  double ll_network_lines = 0;
  BytesPerSecond ll_proxy;  ///< data of LL whose flags a rank's proxy looks at
  /// Host time to launch one GPU's kernel: a process that drives several launches them one after
  /// the other, and they wait for the last. The next launch is prepared while the GPUs work.
  double launch = 0;
  /// Host time for each further channel of a kernel, where NcclConstants::queues_by_channel.
  double channel_host = 0;
  /// Grouped sends and receives: for each peer, host time to put its two operations into the group,
  /// and device time to start them.
  double peer_host = 0;
  double peer = 0;
  double peer_share = 1;        ///< of the links' rate, what grouped sends and receives reach
  BytesPerSecond peer_channel;  ///< that a channel of theirs carries to another machine
  /// Times a rank's own part goes through GPU memory without a transfer beside it.
  double memory_passes = 0;
  /// More that a hop of LL takes through host memory: its flags are looked for across PCIe, there
  /// and back.
  double ll_host_hop = 0;
  double tree_ll_base = 0;  ///< that trees take to start
  /// Of a Simple tree's hop over NVLink, PCIe and the network, without the chunk that passes it.
  std::array<double, 3> tree_simple_hop{};
  /// While one slice waits for its hop the others keep the port busy.
  double slices_on_a_port = 1;
  /// Times the kernels' time for a message (TCP) that one waits longer for NCCL's, whose length
  /// goes ahead.
  double length_messages = 0;
  /// Further latencies of the network, beyond InfiniBand's, that an NVLSTree waits for in each hop.
  double nvls_tree_latencies = 0;
  /// What a port fetches from a GPU's memory, or brings there, through a host bridge gets so much
  /// of its PCIe links; stores between GPUs get all (AMD), or what NCCL counts for Intel's.
  double host_bridge_share = 1;
  /// Of what a GPU's kernel stores to host memory and of what it loads from there, what either gets
  /// of its way while it does both: it loads a line before it stores one.
  double host_duplex_share = 1;
  /// The same of a GPU's own link for another GPU, where nobody has stated
  /// NodeGraph::staged_bandwidth: hosts differ by a factor of four.
  double host_own_share = 1;
  /// The network latency that NCCL's hops hold already.
  Seconds counted_network_latency;
  double connection_slots = 1;  ///< of a connection's buffer
  double ll_slot = 1;           ///< bytes of data in a slot
  double ll128_slot = 1;
  double ring_chunk = 1;      ///< bytes of a Simple ring's chunk
  double ring_slices = 1;     ///< in which it goes
  double ring_slice_min = 1;  ///< bytes of the least slice
  /// Bytes of a message that a provider sends along with a rendezvous.
  double prompt_message = 0;
  double nvls_lane = 1;  ///< GB/s of a switch's channel, as it is planned
  /// Bytes of an NVLS chunk: below four machines, and from four on.
  std::array<double, 2> nvls_chunk{};
  /// Of fewer than so many rounds of all chunks under way, chunks are cut down to so many bytes.
  std::array<double, 3> nvls_cut_rounds{};
  std::array<double, 3> nvls_cut_chunk{};
  std::array<double, 2> nvls_tree_cut_rounds{};
  std::array<double, 2> nvls_tree_cut_chunk{};
};

/// What depends on the generation of the GPUs. Times in us; those of rings are what rings over
/// NVLink inside one machine take to start and for each hop, where NCCL has one number for all
/// GPUs. Values: profiles/libraries/nccl/volta.yaml, ampere.yaml, hopper.yaml, blackwell.yaml.
struct NcclGeneration {
  double ll_base = 0;
  double ll_hop = 0;  ///< over several machines, rings and trees, where NCCL's is less
  /// More that a hop over NVLink takes LL where ranks pass on several parts at once, one in each
  /// step, and not one part alone; of a tree, whose ranks listen to several, with any size. Of
  /// rings over several machines it comes with the lines: 16 A100 show no step before.
  double ll_parts = 0;
  double ll_lines = 0;  ///< as NcclMeasured::ll_network_lines, for a hop over NVLink; of trees too
  double ll128_base = 0;
  double ll128_hop = 0;
  double ll128_base_across = 0;  ///< of rings over several machines; before Hopper
  double ll128_hop_across = 0;
  double tree_ll128_base = 0;  ///< that trees take to start
  double simple_base = 0;
  double simple_hop = 0;
  /// Of a ring's hop inside a machine whose GPUs store into each other's memory over PCIe, which no
  /// other slice hides; 0: NCCL's hop, while other slices move.
  double simple_pcie_hop = 0;
  double nvls_link = 1;        ///< of the NVLinks' bandwidth, where switches reduce
  double nvls_tree_link = 1;   ///< the same over several machines
  double nvls_base = 0;        ///< to start, inside a machine
  double nvls_loop = 0;        ///< for each loop over the chunks under way: all ranks wait for all
  double nvls_loop_gpus = 1;   ///< of a machine, with which a loop takes that long
  double nvls_loop_free = 0;   ///< GPUs that a loop takes no time for, beyond its bytes
  int nvls_channels = 1;       ///< inside a machine
  int nvls_tree_channels = 1;  ///< over several
};

/// What NCCL's own cost model counts with, in one range of versions, and what runs take beyond it.
/// Latencies in us, bandwidths in GB/s (1e9 B/s), so that they can be held against the source.
/// Values and sources: profiles/libraries/nccl/2.*.yaml, and all.yaml for what all releases share.
struct NcclConstants {
  int first_minor = 0;    ///< of NCCL 2; good up to the next file
  bool has_model = true;  ///< false: trees by a threshold, LL by another (2.4)
  NcclByProtocol tree_base{};
  NcclByProtocol ring_base{};
  NcclHops tree_hop{};
  NcclHops ring_hop{};
  double nvls_hop = 0;  ///< inside a machine
  double nvls_network = 0;
  double nvls_tree_network = 0;
  double pat_base = 0;
  NcclByProtocol collnet_direct_hop{};  ///< Simple: NVLink, PCIe, network
  NcclByProtocol collnet_chain_hop{};
  double ll_local_factor = 1;   ///< on a local hop of LL when there are several machines
  int ring_network_detour = 0;  ///< an all-reduce ring counts 2 (machines - 1 + this) network hops
  int half_ring_network_detour = 0;  ///< a reduce-scatter or all-gather ring machines - 1 + this
  /// Times that a network hop of Simple counts the network's own latency: twice from 2.12 on, for
  /// the flush after a receive.
  double simple_network_latencies = 0;
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
  double ring_ll128 = 0;          ///< of the bus bandwidth
  double ring_ll128_lone = 0;     ///< the same, where a machine's one rank sends and receives
  double tree = 0;
  double tree_ll128_network = 0;  ///< of a tree's bandwidth over several machines
  NcclByArchitecture ll_max{};    ///< bus bandwidth
  NcclByArchitecture ring_ll128_channel{};
  NcclByArchitecture tree_ll128_channel{};
  NcclByArchitecture tree_channel{};
  std::array<double, 4> nvls_efficiency{};  ///< by architecture; 0: the older 5/6 of the bus
  NcclByArchitecture nvls_tree_channel{};   ///< 0: none
  NcclTreeCorrection tree_ll_correction{};
  NcclTreeCorrection tree_ll128_correction{};
  NcclTreeCorrection tree_simple_correction{};
  double plateau_before_ampere = 0;  ///< on the latency of a Simple all-reduce ring
  double plateau = 0;
  bool plateau_by_channel = false;  ///< begins at 64 B a channel and rank; else at 4 KiB a rank
  bool has_pat = false;
  bool has_trees = false;
  /// Over sockets a message's length goes ahead on a connection of its own, and only when it has
  /// come does the receiver ask for the data (src/transport/net_socket.cc, commit 06abb3b7 of 2019,
  /// ncclSocketTest). NCCL's own model does not count it.
  bool sends_lengths_ahead = false;
  /// The host's time for a launch grows with the kernel's channels: until 2.11 it writes each
  /// channel's work into a queue of that channel (src/enqueue.cc, getNextOp); a table of 2.19.3
  /// grows alike (a100-printed2.19-1n of collectives.yaml), one of 2.22.3 does not
  /// (odissei-h100-1n).
  bool queues_by_channel = false;
  /// A ring of LL cuts what it sends into parts of 16 bytes at least (src/device/all_reduce.h), so
  /// that 128 bytes fill those of 8 ranks; before, of 4 KiB, a line of each thread (src/enqueue.cc,
  /// minChunkSizeLL, from which lastChunkCount of 2.21's ncclWorkElem comes).
  bool small_parts = false;
  /// A rank's network thread serves its sockets itself, sends and receives, where one connection is
  /// opened (src/transport/net_socket.cc, autoNt = 0); before, each connection had a thread.
  bool sockets_by_proxy = false;
  /// Sends to another machine take as many channels as its port needs (src/graph/paths.cc,
  /// ncclTopoGetNchannels), not two.
  bool peer_channels_by_port = false;
  /// A channel may open several connections to a peer where a cloud's adapter needs them (2.4.8's
  /// notes: NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD, set by the adapter's vendor); before,
  /// it opens one (src/transport/net_socket.cc of 2.4.2).
  bool several_connections = false;
  /// Rings through one port; 0: as many as the search lays. A ring takes its port alone before 2.5
  /// (netGetRings of src/transport/net.cu and net.cc, cardUsed), and 2.4 lays it twice where the
  /// GPUs have NVLink (src/misc/rings.cc, copyRings).
  int rings_on_a_port = 0;
  int nvlink_rings_on_a_port = 0;
  /// Of the thread that serves all sockets of a rank (2.4's, src/transport.cc, persistentThread;
  /// before, each connection had one, and from 2.4.8 on sockets have their own); 0: not known.
  BytesPerSecond socket_thread;
  /// Of a rank's thread that moves what it exchanges over EFA by way of host memory, in both
  /// directions together; 0: two machines of 2019 show no such limit (2.4.8).
  BytesPerSecond efa_thread;
  double collnet_gpu = 0;           ///< that each further GPU of a machine adds to CollNetDirect
  double collnet_hopper = 1;        ///< of its bandwidth, from Hopper on
  double pat_rounds_per_hop = 1;    ///< parts of a network hop that a round of a PAT takes
  double pat_rank = 0;              ///< us a rank
  double pat_bandwidth = 1;         ///< of the bus
  double intel_p2p_overhead = 1;    ///< of GPU traffic through a host bridge of Intel's, as planned
  Seconds efa_stated_latency;       ///< what AWS's plug-in states
  double nominal_over_payload = 1;  ///< NCCL plans with nominal rates, links state their payload
  NcclMeasured measured;
  std::array<NcclGeneration, 4> generations{};  ///< Volta and before, Ampere, Hopper, Blackwell

  /// @param capability  compute capability x 10.
  [[nodiscard]] const NcclGeneration& generation(int capability) const;
};

/// Row of NcclConstants::generations. @param capability  compute capability x 10.
[[nodiscard]] std::size_t nccl_generation(int capability);

/// The factor of a tree's bandwidth. REQUIRES: bytes >= 0.
[[nodiscard]] double nccl_tree_correction(const NcclConstants& constants, NcclProtocol protocol,
                                          std::int64_t bytes);

}  // namespace gradwire
