#pragma once

#include <optional>
#include <string>

#include "strategies/knobs.hpp"
#include "strategies/parts/release.hpp"

namespace gradwire {

/// How ranks reduce a fused buffer.
enum class HorovodReduction : std::uint8_t {
  flat,          ///< one NCCL all-reduce over all ranks
  hierarchical,  ///< NCCL in the machine, MPI on the CPU between machines
  torus,         ///< NCCL in the machine and between machines
  adasum,        ///< as hierarchical, with Adasum's vector halving between machines
};

/// How ranks gather the rows of sparse gradients.
enum class HorovodGather : std::uint8_t {
  nccl,              ///< NCCL all-gather
  mpi,               ///< PyTorch copies to the host and back, MPI gathers between all ranks
  mpi_hierarchical,  ///< as mpi, through a window that the ranks of a machine share
};

/// Knobs of Horovod's core under the names of its environment variables, and what its threads cost.
struct HorovodOptions {
  Release version{0, 28};
  Bytes fusion_threshold{128LL * 1024 * 1024};
  Seconds cycle_time{1e-3};
  std::int64_t cache_capacity = 1024;  ///< responses; 0 turns the cache off
  int num_nccl_streams = 1;
  bool batch_d2d_memcopies = true;    ///< of 0.21 or later: one kernel copies up to 160 tensors
  bool disable_group_fusion = false;  ///< of 0.21 or later: a group fuses within itself only
  HorovodReduction reduction = HorovodReduction::flat;
  HorovodGather gather = HorovodGather::nccl;
  Seconds hook_time{30e-6};     ///< of the launcher thread, a tensor
  Seconds request_time{1e-6};   ///< of rank 0, an uncached request of one rank
  Seconds local_latency{1e-6};  ///< of a small message between processes of a machine
  /// At which a core adds up or combines what MPI brought: HostCpu's.
  BytesPerSecond host_sum_rate{0};
  /// At which a core copies what MPI gathers. Assumed: as it adds.
  BytesPerSecond host_copy_rate{0};
};

/// Grouped all-reduce (CHANGELOG 0.21.0, pull request 2453).
inline constexpr Release groups_from{0, 21};
/// One kernel copies many tensors (CHANGELOG 0.21.0, pull request 2435).
inline constexpr Release batched_copies_from{0, 21};

/// Does one kernel copy many tensors into the fusion buffer?
[[nodiscard]] inline bool batches_copies(const HorovodOptions& options) {
  return options.batch_d2d_memcopies && options.version >= batched_copies_from;
}

/// From the end of the last exchange until PyTorch's thread, which waits in step(), goes on. Before
/// 0.20 it sleeps 1 ms between two looks at a handle (WaitAndClear of torch/mpi_ops_v2.cc; pull
/// request 2101): half of that in the mean.
[[nodiscard]] inline Seconds step_delay(const HorovodOptions& options) {
  constexpr Release yields_from{0, 20};
  constexpr Seconds sleep{1e-3};
  return options.version < yields_from ? 0.5 * sleep : Seconds{0};
}

/// The release of early 2020: ddl-benchmarks asks for 0.19 or later (README, May 2020).
inline constexpr const char* horovod_of_2020 = "0.19";

/// Reads the core's knobs; defaults by `version`, and that is `release` unless it is set.
[[nodiscard]] HorovodOptions read_horovod(Knobs& knobs, const std::string& release = "0.28");

/// Reads the knobs of all-gathers, `gpu_allgather` and `hierarchical_allgather`, into `options`,
/// whose version has been read.
void read_horovod_gathers(Knobs& knobs, HorovodOptions& options);

/// What ddl-benchmarks and MG-WFBP set: no fusion, no cache, no cycle; Horovod of early 2020. The
/// knobs of the threads' costs are read.
/// Source: ddl-benchmarks mgwfbp/bert_benchmark.py:12-14.
[[nodiscard]] HorovodOptions read_unfused_horovod(Knobs& knobs);

/// The knob `over`: nothing for the library alone, the unfused Horovod for "horovod". Its knobs are
/// refused without it.
[[nodiscard]] std::optional<HorovodOptions> read_over_horovod(Knobs& knobs);

}  // namespace gradwire
