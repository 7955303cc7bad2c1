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
  double bus = 0;  ///< GB/s: channels x bandwidth of each
  /// GB/s that the network alone allows.
  double network_bus = std::numeric_limits<double>::infinity();
  bool amd = false;
  /// us that a network hop takes more than NCCL counts.
  double network_latency = 0;
  /// Rings have the same order of GPUs in every channel, which NCCL takes to mean that a broadcast
  /// needs no more than one hop.
  bool same_channels = true;
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
/// several passes everything twice. On two machines the wires would allow twice of what follows;
/// runs reach half of them, as NCCL's factor of 0.5 says (aws-p3dn-2n 47 %, deepops-dgx1-2n 60 %).
[[nodiscard]] constexpr double tree_traffic(int machines) {
  return machines > 2 ? 2 : 1;
}

/// Latency in us, once for the whole collective: base + hops (ncclTopoTuneModel).
/// REQUIRES: nccl_has.
[[nodiscard]] double nccl_latency(const NcclConstants& constants, const NcclSystem& system,
                                  const NcclQuestion& question);

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
