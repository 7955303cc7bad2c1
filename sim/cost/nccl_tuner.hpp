#pragma once

#include <cstdint>
#include <limits>

#include "sim/collectives/pattern.hpp"
#include "sim/cost/nccl_constants.hpp"

namespace gradwire {

/// The machine as NCCL's cost model sees it.
struct NcclSystem {
  int machines = 1;
  int ranks = 2;
  int architecture = 0;  ///< row of NcclByArchitecture
  NcclHop local = hop_nvlink;
  int channels = 1;
  int channels_max = std::numeric_limits<int>::max();  ///< NCCL_MAX_NCHANNELS
  double bus = 0;                                      ///< GB/s: channels x bandwidth of each
  /// GB/s that the network alone allows.
  double network_bus = std::numeric_limits<double>::infinity();
  bool amd = false;
  /// us that a network hop takes more than NCCL counts.
  double network_latency = 0;
};

/// What is to be timed. `bytes` as Pattern counts the size of a collective.
struct NcclQuestion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::int64_t bytes = 0;
};

/// May NCCL run this kind by this algorithm and protocol at all? (Simple alone for all but trees
/// and rings; trees only for all-reduce; ...)
[[nodiscard]] bool nccl_has(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol);

/// Bus traffic of a tree / size, as NCCL sets trees beside rings: a machine in the middle of
/// several passes everything twice.
[[nodiscard]] constexpr double tree_traffic(int machines) {
  return machines > 2 ? 2 : 1;
}
/// Part of the time that a byte takes on the network that limits a tree's bus. Over two machines
/// NCCL counts with its channels' speed inside, for which it searches up to twice the network's
/// (v2.18, src/graph/search.cc, ncclTopoCompute; src/graph/tuning.cc, nNodes <= 2): half of that,
/// NCCL's factor of 0.5, and its correction for the size are what runs of Simple reach, too (two
/// p3dn, 1 GB: 134 ms by trees, 268 by rings, NVIDIA/nccl-tests issue 22; 131 and 224 predicted).
[[nodiscard]] constexpr double tree_network(int machines) {
  return machines == 2 ? 0.5 : 1;
}
/// Same, as NCCL plans: of three machines none passes everything twice, but 1.5 times (in each of
/// two half trees another stands in the middle); it plans a tree's channels at the port's speed all
/// the same, as a ring's (v2.28.9, src/graph/search.cc, ncclTopoCompute).
[[nodiscard]] constexpr double planned_tree_network(int machines) {
  return machines == 3 ? 4.0 / 3 : tree_network(machines);
}

/// Latency in us, once for the whole collective: base + hops (ncclTopoTuneModel).
/// REQUIRES: nccl_has.
[[nodiscard]] double nccl_latency(const NcclConstants& constants, const NcclSystem& system,
                                  const NcclQuestion& question);

/// Hops of a ring that the first bytes of a collective wait for, beside NCCL's fixed `base`: us.
struct NcclRingHops {
  double base = 0;
  double local = 0;  ///< one inside a machine
  int local_steps = 0;
  double network = 0;  ///< one between two machines
  int network_steps = 0;
};
/// The parts of nccl_latency of an all-reduce, reduce-scatter or all-gather ring.
[[nodiscard]] NcclRingHops nccl_ring_hops(const NcclConstants& constants, const NcclSystem& system,
                                          const NcclQuestion& question);

/// Hops up a tree, those down being as many: its depth (src/graph/connect.cc).
struct NcclTreeHops {
  int local = 0;
  int network = 0;
};
[[nodiscard]] NcclTreeHops nccl_tree_hops(const NcclSystem& system);

/// Bytes that each of the channels at work on a Simple tree passes on at a time (src/enqueue.cc,
/// v2.4 to v2.18 alike: halved while there are too few to fill the tree).
[[nodiscard]] double nccl_tree_chunk(const NcclSystem& system, int channels, std::int64_t bytes);
/// The same of LL128 (src/enqueue.cc of v2.8 to v2.28: nstepsLL128).
[[nodiscard]] double nccl_tree_ll128_chunk(const NcclSystem& system, int channels,
                                           std::int64_t bytes);

/// Algorithm bandwidth in GB/s: bytes / bandwidth is the rest of the time.
/// REQUIRES: nccl_has.
[[nodiscard]] double nccl_bandwidth(const NcclConstants& constants, const NcclSystem& system,
                                    const NcclQuestion& question);

/// us: latency + bytes / bandwidth (ncclTopoGetAlgoTime).
/// REQUIRES: nccl_has.
[[nodiscard]] double nccl_time(const NcclConstants& constants, const NcclSystem& system,
                               const NcclQuestion& question);

/// Bytes up to which NCCL 2.4 takes its trees (src/init.cc, ncclTreeThreshold): 0 on one machine,
/// no limit on two with NVLink.
[[nodiscard]] double nccl_tree_threshold(const NcclSystem& system);
/// Bytes up to which NCCL 2.4 takes LL (src/misc/enqueue.cc, getKernelInfo), on Volta and later.
[[nodiscard]] double nccl_ll_threshold(const NcclSystem& system, const NcclQuestion& question);

}  // namespace gradwire
