#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/core/units.hpp"

namespace gradwire {

/// The kind of a hop of a ring: that of its slowest link. Index into HopTimes.
enum HopKind : std::size_t { hop_nvlink, hop_pcie, hop_network };
using HopTimes = std::array<Seconds, 3>;

constexpr HopTimes hop_microseconds(double nvlink, double pcie, double network) {
  return {Seconds{nvlink * 1e-6}, Seconds{pcie * 1e-6}, Seconds{network * 1e-6}};
}

/// What one protocol of NCCL's rings costs.
struct NcclProtocol {
  std::string_view name;
  Seconds base;                 ///< once
  HopTimes hop;                 ///< a step of an all-reduce
  HopTimes broadcast_hop;       ///< a hop of a broadcast
  double local_hop_factor = 1;  ///< on hop, inside a machine, when there are several
  /// Of the bandwidth of the rings: in general; of a broadcast inside one machine; with one GPU in
  /// each of several machines.
  double efficiency = 1;
  double efficiency_local_broadcast = 1;
  double efficiency_lone_gpus = 1;
  /// Bus bandwidth of one channel at most; 0 = no limit.
  BytesPerSecond channel_all_reduce;
  BytesPerSecond channel_broadcast;
};

/// The rings of NCCL's own cost model. "Bus bandwidth" is that of nccl-tests.
struct NcclRingConstants {
  std::array<NcclProtocol, 3> protocols;  ///< LL, LL128, Simple: on a tie the first is taken
  /// Simple, all-reduce on several machines: from `plateau_size` a rank on, all latencies are
  /// multiplied by `plateau` ("plateau effect of ring").
  double plateau = 1;
  Bytes plateau_size{0};
  /// From the launch of the kernel to its first byte, which NCCL's model leaves out.
  Seconds launch;
};

/// Source: NCCL 2.8, src/graph/tuning.cc: baseLat, hwLat, ll128MaxBwPerCh, ncclTopoTuneModel,
/// ncclTopoGetAlgoTime. Simple's broadcast hop is the one of its trees, "the latency of a 256 kB
/// chunk". Of 128 bytes of LL128 120 are payload (0.94); NCCL counts 0.92. `launch` is our choice:
/// NCCL's prediction and nccl-tests differ by 5 to 20 us at 1 KiB on 4 to 8 GPUs.
///
/// Used for all of 2.4 to 2.14. In 2.5 and 2.6 the hops differ by less than 3.1 us; 2.12 counts 28
/// us for a network hop of Simple. 2.4 has no model at all (LL up to a threshold, then Simple).
inline constexpr NcclRingConstants nccl_2_8_rings = {
    .protocols = {{{.name = "ll",
                    .base = Seconds{3.6e-6},
                    .hop = hop_microseconds(0.47, 1.0, 2.7),
                    .broadcast_hop = hop_microseconds(0.47, 1.0, 2.7),
                    .local_hop_factor = 1.8,
                    .efficiency = 1.0 / 4,
                    .efficiency_local_broadcast = 1.0 / 3,
                    .efficiency_lone_gpus = 1.0 / 4,
                    .channel_all_reduce = BytesPerSecond{},
                    .channel_broadcast = BytesPerSecond{}},
                   {.name = "ll128",
                    .base = Seconds{10.0e-6},
                    .hop = hop_microseconds(1.9, 2.5, 4.0),
                    .broadcast_hop = hop_microseconds(1.9, 2.5, 4.0),
                    .local_hop_factor = 1,
                    .efficiency = 0.92,
                    .efficiency_local_broadcast = 0.92,
                    .efficiency_lone_gpus = 0.7,
                    .channel_all_reduce = BytesPerSecond{16.7e9},
                    .channel_broadcast = BytesPerSecond{18.8e9}},
                   {.name = "simple",
                    .base = Seconds{8.4e-6},
                    .hop = hop_microseconds(3.4, 5.7, 9.6),
                    .broadcast_hop = hop_microseconds(28, 28, 50),
                    .local_hop_factor = 1,
                    .efficiency = 1,
                    .efficiency_local_broadcast = 1,
                    .efficiency_lone_gpus = 1,
                    .channel_all_reduce = BytesPerSecond{},
                    .channel_broadcast = BytesPerSecond{}}}},
    .plateau = 1.9,
    .plateau_size = Bytes{65536 / 16},
    .launch = Seconds{10e-6}};

}  // namespace gradwire
