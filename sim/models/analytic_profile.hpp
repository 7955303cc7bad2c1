#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/fp8.hpp"
#include "sim/models/frameworks.hpp"
#include "sim/models/fusion.hpp"
#include "sim/models/model.hpp"
#include "sim/models/optimizers.hpp"
#include "sim/models/recompute.hpp"

namespace gradwire {

/// How far an analytic profile may be off: that of convolutional networks in fp32 and TF32, or that
/// of others (mixed precision, or without convolutions).
[[nodiscard]] RelativeError analytic_error(const ProfileErrors& errors,
                                           const ModelDescription& model, const std::string& dtype);

/// Whose kernels fused attention in fp16 and bf16 is: FlashAttention-2, cuDNN's, FlashAttention 1
/// (PyTorch 2.0 and 2.1), or that in Triton (MosaicML's MPT of 2023).
enum class AttentionKernels : std::uint8_t { flash, cudnn, flash_1, triton };

struct AnalyticOptions {
  std::string
      optimizer;  ///< a name of HostTables::optimizers; "": what most train such a model with
  std::optional<Fusion> fusion = std::nullopt;  ///< absent: the framework's
  /// Activations of convolutions as NHWC, which matrix units take; absent: as the framework has
  /// them.
  std::optional<bool> channels_last = {};
  /// Half precision by torch.autocast, see ModelDescription::autocast; absent: as the model says.
  std::optional<bool> autocast = {};
  /// Gradients of tables that no other layer shares have but the rows that were looked up; absent:
  /// as the model says.
  std::optional<bool> sparse_embeddings = {};
  /// Of tf: in place of Framework::persistent_norms; false: BatchNorms::spatial.
  std::optional<bool> persistent_norms = {};
  AttentionKernels attention = AttentionKernels::flash;
  std::string framework = "pytorch-eager";      ///< a name of HostTables::frameworks
  std::optional<double> host_time = {};         ///< in place of GpuSpec::host_time
  StepForm optimizer_step = StepForm::foreach;  ///< of PyTorch
  Recompute recompute = Recompute::none;        ///< REQUIRES: else a block_count() > 0
  std::optional<int> recompute_layers = {};     ///< blocks that are, from the first on; absent: all
  bool use_reentrant = false;  ///< of PyTorch: blocks run again as a whole, see recomputed()
  /// REQUIRES: else fp16 or bf16, a GPU with a peak for fp8 and a block_count() > 0.
  Fp8Recipe fp8_recipe = Fp8Recipe::none;
  bool fused_loss = false;    ///< see with_fused_loss()
  bool compiled_loss = true;  ///< of pytorch-compile: it has the loss too, see LossForm
  /// Half precision keeps weights, gradients and the optimizer's state in fp32; false: in its own.
  bool master_weights = true;
  bool gradient_clipping = false;  ///< of PyTorch: gradients are clipped by the norm of all
  /// Of PyTorch: see ComputeProfile::unscale. REQUIRES: else fp16, with master weights.
  bool grad_scaler = false;
};

/// How often kernels of batch norms pass over their tensors.
/// - persistent: once, which stay on the multiprocessors (CUDNN_BATCHNORM_SPATIAL_PERSISTENT).
/// - plain: as builder.hpp counts them.
/// - spatial: cuDNN's other kernels of halves that are channels last, which read them slowly
///   (CUDNN_BATCHNORM_SPATIAL): KernelConstants::spatial_norm_slowness times as long as plain.
enum class BatchNorms : std::uint8_t { plain, persistent, spatial };

/// What every layer's time depends on beside the layer.
struct KernelSetting {
  const GpuSpec& gpu;
  int batch = 0;
  std::string dtype;
  bool channels_last = false;
  AttentionKernels attention = AttentionKernels::flash;
  bool token_norms = false;      ///< norms of tokens and casts are kernels of their own
  bool sums_in_fp32 = false;     ///< autocast: layer norms, sums, embeddings
  bool padded_products = false;  ///< rows are made multiples of 16 bytes (TorchInductor, pad_mm.py)
  bool native_norms = false;     ///< batch norms are ATen's kernels, see native_norms()
  BatchNorms batch_norms = BatchNorms::plain;
  bool sparse_embeddings = false;
  double moved_before =
      0;  ///< bytes that the kernels before move, which leave it its input; 0: none
};

/// Whether the model's norms are of batches and run as ATen's own kernels: PyTorch has cuDNN's for
/// every type but bf16 (aten::native_batch_norm in our recordings; _batch_norm_impl_index), and a
/// compiler its own.
[[nodiscard]] bool native_norms(const ModelDescription& model, const Framework& framework,
                                const std::string& dtype);

/// The setting of `running`, a model as it runs: fused and recomputed as the options say. REQUIRES:
/// as analytic_profile().
[[nodiscard]] KernelSetting kernel_setting(const HostTables& hosts, const ModelDescription& running,
                                           const GpuSpec& gpu, int batch, const std::string& dtype,
                                           const AnalyticOptions& options);

/// What a layer's kernels in one direction do; of a layer that launches nothing and moves nothing,
/// nothing. REQUIRES: supports(gpu, dtype).
[[nodiscard]] KernelWork kernel_work(const ModelLayer& layer, const KernelSetting& setting,
                                     Direction direction);

/// The layers of a model with their tensors and work for `batch` samples, and no times: what a
/// recording or an estimate fills in. REQUIRES: batch >= 1.
[[nodiscard]] ComputeProfile untimed_profile(const ModelDescription& model, int batch);

/// What a GPU keeps, which no recording tells: of a network of convolutions as published, whose
/// parameters are the recording's, under its default optimizer; else nothing is known still.
void add_memory(const HostTables& hosts, ComputeProfile& recorded, const ModelDescription& model);

/// What `gpu` takes for an iteration of `model`, from counts alone: every layer's kernel_time()
/// with the GPU's efficiencies, an optimizer step, the casts of mixed precision, and the host's
/// thread as the framework spends it (frameworks.hpp).
/// - `dtype`: fp32, tf32, or fp16 and bf16 as mixed precision (fp32 master weights).
/// - The iteration is what launch_bound() tells and a gap, so small batches on fast GPUs are bound
///   by the host, and large ones by the device.
/// Source kind "analytic"; model_error is analytic_error(). No jitter, no overlap factors.
/// REQUIRES: batch >= 1; supports(gpu, dtype); gpu.efficiency has what executes it.
[[nodiscard]] ComputeProfile analytic_profile(const HostTables& hosts, ModelDescription model,
                                              const GpuSpec& gpu, int batch,
                                              const std::string& dtype,
                                              const AnalyticOptions& options = {});

}  // namespace gradwire
