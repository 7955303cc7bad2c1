#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

enum class Direction : std::uint8_t { forward, backward };

/// What fused attention multiplies in one direction: in tiles over the edge too, and above the
/// diagonal only where a tile crosses it.
struct AttentionTiles {
  double flops = 0;
  std::int64_t blocks = 0;  ///< of threads, each of which goes along the other operand's tiles
  bool backward = false;
};

/// One way in which a library computes a layer.
struct KernelPlan {
  std::vector<MatrixShape> products;             ///< what is multiplied
  std::optional<AttentionTiles> attention = {};  ///< in place of `products`
  double traffic = 1;  ///< times the bytes that the layer reads and writes
};

/// What the kernels of one layer do in one direction, for the whole batch.
struct KernelWork {
  std::string_view work_class;  ///< see work_class()
  double flops = 0;             ///< 0 for work that memory alone bounds
  double bytes = 0;             ///< read and written
  double cached = 0;            ///< of these, what an L2 cache still has of the kernels before
  int kernels = 1;
  double channels = 0;  ///< of a batch norm, whose kernels give each a block
  /// Where the shapes are known (plans_of()): the fastest is taken, as libraries do.
  std::vector<KernelPlan> plans = {};
};

/// The classes by which efficiencies are tabulated: those of ComputeProfile's kinds, and
/// - conv3 is a 3x3 convolution of stride 1 (Winograd), conv3_strided one of another stride;
/// - stem a convolution of at most `stem_channels_max` input channels, conv_wide any other that is
///   neither 1x1 nor 3x3;
/// - depthwise_conv a convolution of each channel by itself, whose few operations an element memory
///   bounds; grouped_conv one of wider groups;
/// - attention a matrix product without a parameter;
/// - flash_attention the kernels that do both of attention's products at once (where a table has
///   no share for them, that of attention);
/// - of kernel_work(), which knows the setting: cudnn_attention the same by cuDNN, layer_norm the
/// norms of single tokens, batch_norm
///   those of batches that are ATen's own kernels, see native_norms() (where a table has neither,
///   norm counts), nhwc_class() what is done channels last, linear_by_8, _4 and _2 a
///   product whose results' rows are a multiple of only so many bytes, not of the 16 that matrix
///   units load at once: a vocabulary of 30522 or 50257 (else linear counts).
[[nodiscard]] std::string_view work_class(const ModelLayer& layer);
/// The same of a profile's layer, which knows no stride (nor does a model's layer that the user has
/// counted).
[[nodiscard]] std::string_view work_class(const LayerProfile& layer);
constexpr std::int64_t stem_channels_max = 4;

/// The class of the same work on tensors that lie channels last: "conv3_nhwc" of "conv3"; itself
/// where that makes no difference.
[[nodiscard]] std::string_view nhwc_class(std::string_view work_class);

/// Whether the class is matrix work, which the peak bounds beside the memory.
[[nodiscard]] bool is_matrix(std::string_view work_class);

/// Bytes of an activation of `dtype`: 2 for fp16 and bf16 (mixed precision), else 4.
[[nodiscard]] double activation_bytes(std::string_view dtype);

/// The type that `gpu` computes in when asked for `dtype`: tf32 is fp32 where there is no tf32.
[[nodiscard]] std::string executed_dtype(const GpuSpec& gpu, const std::string& dtype);
/// Whether `gpu` has a peak for `dtype`, or for what it executes instead.
[[nodiscard]] bool supports(const GpuSpec& gpu, const std::string& dtype);

/// Whether `gpu` multiplies matrices of `dtype` on units of their own (tensor cores): tf32, bf16
/// and fp8 where it has them, fp16 where its peak is more than the twice of fp32 that packed
/// arithmetic has.
[[nodiscard]] bool has_matrix_units(const GpuSpec& gpu, const std::string& dtype);

/// What matrix work of this class takes that is asked for in `dtype`, by `time_in` of a type's
/// kernels. TF32 is a permission (cuBLAS, CUBLAS_COMPUTE_32F_FAST_TF32;
/// torch.backends.cuda.matmul.allow_tf32): where fp32's own kernels compute half as fast or more,
/// the faster of both is taken, as layouts count. Fused attention has one kernel for both, of three
/// products in TF32 each (PyTorch's mem_eff_attention, OpMultiplyAddFastF32), whichever table tells
/// it. REQUIRES: supports(gpu, dtype).
[[nodiscard]] Seconds fastest_permitted(
    std::string_view work_class, const GpuSpec& gpu, const std::string& dtype, Direction direction,
    const std::function<Seconds(const std::string& dtype)>& time_in);

/// time = kernels x kernel_overhead
///        + max(bytes / bandwidth, flops / (peak x e.flops) + bytes / (bandwidth x e.memory))
/// with the reachable bandwidth (of what is `cached` the L2 cache's, where the GPU states one; what
/// is kept for backward goes to memory beside it, a quarter of a training pass's bytes, in as long
/// as four times the bandwidth takes for all) and the class's efficiency e. Where plans are known,
/// that of the fastest: its own operations in place of `flops`, on the share of the GPU that its
/// tiles fill (products_time()), its own traffic in place of `bytes`. The sum, because tiles are
/// loaded, multiplied and stored one after another by a kernel that overlaps this only in part:
/// over the 3x3 convolutions of traces on three GPUs it misses by 1 to 12 %, the larger of the two
/// terms by 7 to 42 % (results/reference/single_gpu.md). The outer maximum holds memory work to the
/// bandwidth. A class without an efficiency counts with 1 and 1. Shares of memory below 1 in a
/// convolution are kernels that change the layout of its tensors; channels last, where a table has
/// no shares for that (nhwc_class()), they count as 1, and a 1x1 convolution is a plain product, of
/// class linear.
/// A grouped convolution counts against the fp32 peak in every type. A batch norm's channels are
/// read by a block each, at e.channel, before the memory's share counts: with few channels most of
/// the GPU waits (ATen's native kernels, Normalization.cuh: the grid is the channels).
/// REQUIRES: supports(gpu, dtype).
[[nodiscard]] Seconds kernel_time(const KernelWork& work, const GpuSpec& gpu,
                                  const std::string& dtype, Direction direction);

/// kernel_time() by shares that are given, for many of them: what is looked up by name is looked up
/// once, and computing timed once for each share of the peak.
class KernelTimer {
 public:
  /// @param executed  as executed_dtype().
  /// REQUIRES: `work` outlives it; supports(gpu, executed).
  KernelTimer(const KernelWork& work, const GpuSpec& gpu, const std::string& executed);

  /// Efficiency::flops from now on.
  void set_flops(double share);
  /// @param memory, channel  as Efficiency's. REQUIRES: set_flops() was called.
  [[nodiscard]] Seconds time(double memory, BytesPerSecond channel = {}) const;

 private:
  const KernelWork* work_;
  bool is_matrix_;
  bool matrix_units_ = false;
  int multiprocessors_;
  KernelConstants kernels_;
  double bandwidth_;  ///< bytes per second
  double bytes_;      ///< whose time from memory is that of all, some of which are cached
  double peak_ = 0;   ///< operations per second
  double flops_ = 0;
  Seconds launches_;
  std::vector<double> computing_;  ///< seconds, by plan
};

}  // namespace gradwire
