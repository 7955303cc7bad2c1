#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// Where a constant of NcclMeasured comes from.
struct NcclFit {
  std::string_view constant;  ///< its name below, with its generation, or what they are of
  std::string_view series;    ///< of results/reference/collectives.yaml
  std::string_view rows;      ///< of that series; these are not scored
};

/// NCCL chooses by its own model, whose times are those of a selector: optimistic below some MiB.
/// What runs take beyond it, each with its source. The series that a constant was fitted to are
/// those of nccl_fits(); all others test it.
struct NcclMeasured {
  /// LL sends a flag of 4 bytes with each 4 bytes (S. Jeaugey, Massively scale your deep learning
  /// training with NCCL 2.4, 2019); NCCL counts with 1/2 from 2.21 on and with 1/4 before.
  double ll = 0.5;
  /// Of NVLink's rate, for LL128 before Hopper: its threads load and store every line, and do not
  /// keep up. Hopper's do: what NCCL counts (NcclConstants::ring_ll128) holds.
  double ll128_nvlink = 0.62;
  /// Of the other links' rate: 120 of 128 bytes are payload (same source as `ll`).
  double ll128_other = 120.0 / 128;
  /// us more that a hop between machines takes LL where a channel's 512 threads send a line each,
  /// 4 KiB of data, and not one of them: NCCL's proxy looks at every line's flag before it sends
  /// (src/transport/net.cc, sendProxyProgress).
  double ll_network_lines_us = 1.1;
  /// Data of LL whose flags a rank's proxy looks at in a second.
  BytesPerSecond ll_proxy{3.7e9};
  /// Host time to launch one GPU's kernel: a process that drives several launches them one after
  /// the other, and they wait for the last. The next launch is prepared while the GPUs work.
  double launch_us = 4.3;
  /// Host time for each further channel of a kernel, where NcclConstants::queues_by_channel.
  double channel_host_us = 0.205;
  /// Grouped sends and receives: for each peer, host time to put its two operations into the group,
  /// and device time to start them.
  double peer_host_us = 0.85;
  double peer_us = 2.25;
  /// Times a rank's own part goes through GPU memory without a transfer beside it: the step of a
  /// Simple ring that ends the reduction reads two operands and writes the result.
  double memory_passes = 3;
  /// us that trees of LL and LL128 take to start: NCCL's from 2.18 on, which counted less before.
  double tree_ll_base_us = 6.8;
  double tree_ll128_base_us = 14;
  /// us of a Simple tree's hop over NVLink, PCIe and the network, without the chunk that passes it:
  /// NCCL 2.18 and 2.25 on (src/graph/tuning.cc). Before and between NCCL counts 28, "a 256kB
  /// chunk", whatever the chunk.
  std::array<double, 3> tree_simple_hop_us = {4, 4, 14};
  /// While one slice waits for its hop the others keep the port busy: two slices in a chunk
  /// (src/include/collectives.h, ALLREDUCE_CHUNKSTEPS over ALLREDUCE_SLICESTEPS), two channels on a
  /// port (src/graph/connect.cc lays each ring twice).
  double slices_on_a_port = 4;
  /// Times the kernels' time for a message (TCP) that one waits longer for NCCL's, whose length
  /// goes ahead: as long as for a message, assumed. The time to wake the threads that move the data
  /// is not counted.
  double length_messages = 1;
  /// Further latencies of the network, beyond InfiniBand's, that an NVLSTree waits for in each hop.
  double nvls_tree_latencies = 2.1;
};
inline constexpr NcclMeasured nccl_measured{};

/// What depends on the generation of the GPUs. Times are us; those of rings are what rings over
/// NVLink inside one machine take to start and for each hop, where NCCL has one number for all
/// GPUs.
struct NcclGeneration {
  double ll_base = 6.6;    ///< NCCL's from 2.18 on (NcclConstants::ring_base)
  double ll_hop = 0.81;    ///< over several machines, rings and trees, where NCCL's is less
  double ll_lines = 0.82;  ///< as ll_network_lines_us, for a hop over NVLink; of trees too
  double ll128_base = 14;  ///< NCCL's from 2.18 on
  double ll128_hop = 1.9;  ///< NCCL's
  double simple_base = 15.5;
  double simple_hop = 3.4;        ///< NCCL's
  double nvls_link = 0.89;        ///< of the NVLinks' bandwidth, where switches reduce
  double nvls_tree_link = 0.825;  ///< the same over several machines
  double nvls_base = 17.5;        ///< to start, inside a machine
  double nvls_loop = 5;         ///< for each loop over the chunks under way: all ranks wait for all
  int nvls_channels = 16;       ///< inside a machine (src/transport/nvls.cc, NVLS_NCHANNELS_*)
  int nvls_tree_channels = 16;  ///< over several
};
/// Volta and before, Ampere, Hopper, Blackwell; fitted as nccl_fits() says. Borrowed, for want of
/// measurements: Volta's LL from Ampere; Ampere's LL128 over several machines from Volta;
/// Blackwell's Simple and NVLSTree from Hopper. All of Blackwell's rests on one table, whose
/// version and origin are not known.
inline constexpr std::array<NcclGeneration, 4> nccl_generations = {{
    {.ll128_base = 20, .ll128_hop = 2.8, .simple_base = 8.4},
    {.ll128_base = 24.9, .ll128_hop = 0.65, .simple_base = 24.3, .simple_hop = 4.5},
    {.ll_hop = 0.46, .ll_lines = 0.42},
    {.ll_hop = 0.9,
     .ll_lines = 0.72,
     .nvls_link = 0.94,
     .nvls_base = 27,
     .nvls_loop = 10,
     .nvls_channels = 24,
     .nvls_tree_channels = 32},
}};

/// @param capability  compute capability x 10.
[[nodiscard]] const NcclGeneration& nccl_generation(int capability);

/// All that were fitted.
[[nodiscard]] std::span<const NcclFit> nccl_fits();

/// us: what a run takes on links that nobody else uses, `facts` of the pattern that is run.
/// @param gpus_per_process  GPUs that one process launches on, >= 1.
/// @param channel_share     of the channels that the pattern has, those in use: 0..1.
/// REQUIRES: nccl_has, `facts.nvlink_per_byte` or `facts.other_per_byte` above 0.
[[nodiscard]] double nccl_measured_time(const NcclConstants& constants, const NcclSystem& system,
                                        const NcclQuestion& question, const NcclFacts& facts,
                                        int gpus_per_process, double channel_share);

}  // namespace gradwire
