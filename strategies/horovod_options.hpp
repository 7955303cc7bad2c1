#pragma once

#include <optional>
#include <string>

#include "sim/core/host_cpu.hpp"
#include "strategies/ddp.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// How ranks reduce a fused buffer.
enum class HorovodReduction : std::uint8_t {
  flat,          ///< one NCCL all-reduce over all ranks
  hierarchical,  ///< NCCL in the machine, MPI on the CPU between machines
  torus,         ///< NCCL in the machine and between machines
  adasum,        ///< as hierarchical, with Adasum's vector halving between machines
};

/// Knobs of Horovod's core under the names of its environment variables, and what its threads cost.
struct HorovodOptions {
  Release version{0, 28};
  Bytes fusion_threshold{128LL * 1024 * 1024};
  Seconds cycle_time{1e-3};
  std::int64_t cache_capacity = 1024;  ///< responses; 0 turns the cache off
  int num_nccl_streams = 1;
  HorovodReduction reduction = HorovodReduction::flat;
  Seconds hook_time{30e-6};     ///< of the launcher thread, a tensor
  Seconds request_time{1e-6};   ///< of rank 0, an uncached request of one rank
  Seconds local_latency{1e-6};  ///< of a small message between processes of a machine
  /// At which a core adds up or combines what MPI brought.
  BytesPerSecond host_sum_rate = cpu_sum_rate;
};

/// The release of early 2020: ddl-benchmarks asks for 0.19 or later (README, May 2020).
inline constexpr const char* horovod_of_2020 = "0.19";

/// Reads the core's knobs; defaults by `version`, and that is `release` unless it is set.
[[nodiscard]] HorovodOptions read_horovod(Knobs& knobs, const std::string& release = "0.28");

/// What ddl-benchmarks and MG-WFBP set: no fusion, no cache, no cycle; Horovod of early 2020. The
/// knobs of the threads' costs are read.
/// Source: ddl-benchmarks mgwfbp/bert_benchmark.py:12-14.
[[nodiscard]] HorovodOptions read_unfused_horovod(Knobs& knobs);

/// The knob `over`: nothing for the library alone, the unfused Horovod for "horovod". Its knobs are
/// refused without it.
[[nodiscard]] std::optional<HorovodOptions> read_over_horovod(Knobs& knobs);

}  // namespace gradwire
