#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/core/uncertainty.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Shares of the two bounds that kernels of one class reach in one direction. Above 1 where an
/// algorithm does less arithmetic than is counted (Winograd), or where traffic hides behind it.
struct Efficiency {
  double flops = 0;   ///< of the peak; 0: arithmetic takes no time of its own
  double memory = 0;  ///< of the reachable memory bandwidth; 0: traffic takes no time of its own
  BytesPerSecond channel{};  ///< of the block that reads a channel alone; 0: nothing waits for one
};
struct DirectedEfficiency {
  Efficiency forward;
  Efficiency backward;
};

/// Class of work -> efficiency; the classes are those of work_classes().
using EfficiencyTable = std::map<std::string, DirectedEfficiency>;

/// The names of the classes by which efficiencies are tabulated: the kinds of ComputeProfile, and
/// stem (a convolution of few input channels), conv3_strided, conv_wide (another kernel than 1x1 or
/// 3x3), attention (a matrix product without a parameter), and those of kernel_work().
[[nodiscard]] const std::vector<std::string>& work_classes();

/// What holds of the kernels of matrix products and of fused attention on every GPU. Read from
/// profiles/libraries/kernels.yaml, with its sources.
struct KernelConstants {
  /// Filling a tile's pipeline and storing its result, while nothing is multiplied.
  Seconds tile_latency;
  /// The same of a block of fused attention's backward: loads and stores of five tiles, of which
  /// sums over the keys go through memory.
  Seconds attention_backward_wait;
  /// A tile of r x c multiplies r c / (r + c) times for each element that it loads. So many
  /// multiplications a load halve the rate, on fp32 and on matrix units.
  double fp32_half_intensity = 0;
  double matrix_half_intensity = 0;
  /// Rows and columns of the output that a block may make, either way round; the first is largest.
  using Tile = std::array<int, 2>;
  std::array<Tile, 5> fp32_tiles{};
  std::array<Tile, 6> matrix_tiles{};
  int split_depth_min = 0;  ///< that a split of the depth leaves each block
  /// Of what kernels pass on, an L2 cache still has this less the bytes that are moved between
  /// writing and reading over its size: all to none, see KernelWork::cached.
  double cache_reach = 0;
  /// Times as long as FlashAttention-2 takes, in either direction: FlashAttention 1.
  double flash_1_slowness = 0;
  double triton_forward_slowness = 0;  ///< the same of that in Triton
  double triton_backward_slowness = 0;
  double spatial_norm_slowness = 0;  ///< see BatchNorms::spatial
  double drawn_power = 0;            ///< of a board's limit, what whole iterations draw
  double fixed_power = 0;  ///< of the same, what does not go with the clock: memory, leakage

  /// The clock that arithmetic sustains with `power` times as much power for each multiprocessor,
  /// over that with 1. Switching takes C V^2 f (Weste and Harris, CMOS VLSI Design, section 5.2)
  /// and the voltage goes with the clock: the cube root of what power leaves beside fixed_power, of
  /// what is drawn. Below half again as much as fixed_power (the tangent through the origin) the
  /// voltage falls no more, and the clock goes with the power. At most 1. REQUIRES: power > 0.
  [[nodiscard]] double sustained_clock(double power) const;
};

/// What a process takes of a GPU's memory beside its tensors. Read from
/// profiles/libraries/memory.yaml, with its sources.
struct MemoryConstants {
  double slack_share = 0;  ///< that the caching allocator reserves, of the tensors at their most
  Bytes context{0};        ///< before its first tensor is of any size
};

/// An L2 cache that has more room than those of the GPUs on which efficiencies were measured, so
/// that these do not know what it saves.
struct L2Cache {
  Bytes size{0};               ///< 0: none such
  BytesPerSecond bandwidth{};  ///< of a copy that stays in it, read and written
};

/// What the simulator must know of a GPU model to price work that no profile contains. Read from
/// profiles/gpus/NAME.yaml, with its sources.
struct GpuSpec {
  std::string name;
  std::vector<std::string> device_names;  ///< as the driver prints it: "NVIDIA H200"
  std::string architecture;               ///< "volta"; "" when the file states none
  int multiprocessors = 0;
  Bytes memory_size{0};             ///< 0 when the file states none
  BytesPerSecond memory_bandwidth;  ///< nominal
  double memory_efficiency = 0;     ///< reachable share of it by a streaming kernel, 0..1
  L2Cache l2;
  Seconds kernel_overhead;  ///< least time a small kernel takes in a busy stream
  /// Times as long that matrix products take beside a communication kernel, over what the loss of
  /// its multiprocessors alone makes: where as many blocks are launched as there are
  /// multiprocessors, those that find none begin when the others have done all tiles.
  double products_beside_kernels = 1;
  /// What a framework's thread takes to launch, in the machines that have this GPU, over those of
  /// the traces that Framework's times are of.
  double host_time = 1;
  std::map<std::string, double> peak_flops;  ///< dtype -> operations per second
  Hertz clock{0};  ///< of the multiprocessors at which those of half precision hold; 0: not stated
  double clock_share = 1;  ///< of that clock, what they run at: of a power cap, 0..1
  Watts power{0};          ///< the board's limit; 0: not stated
  /// Of the board on which its efficiencies were measured, what this one has: power for each
  /// multiprocessor (above 0) and, the other way, the clock of its peaks over this one's.
  double power_ratio = 1;
  double clock_ratio = 1;
  /// dtype -> efficiencies; empty when the file names none, and then nothing analytic can be made.
  std::map<std::string, EfficiencyTable> efficiency;
  KernelConstants kernels;
  MemoryConstants memory;
  ProfileErrors errors;

  /// Operations per second at the clock that the board sustains. REQUIRES: the type has a peak.
  [[nodiscard]] double sustained_flops(const std::string& dtype) const {
    return std::min(clock_share, power_share()) * peak_flops.at(dtype);
  }

  /// Of the clock of its peaks, what arithmetic sustains where it sustains all of that of the board
  /// on which its efficiencies were measured. 0..1
  /// @param limit  of the board's power, what a cap leaves it; above 0.
  [[nodiscard]] double power_share(double limit = 1) const;
};

}  // namespace gradwire
