#pragma once

#include <string>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/models/fusion.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// The 90th percentile of the analytic profiles' |error| over the scored rows of
/// results/reference/single_gpu.yaml (results/reference/single_gpu.md, held by its test).
constexpr double analytic_error = 0.15;

struct AnalyticOptions {
  std::string optimizer;  ///< a name of optimizers(); "": momentum with convolutions, else adam
  Fusion fusion = Fusion::none;
  bool channels_last = false;  ///< activations of convolutions as NHWC, which tensor cores take
};

/// The layers of a model with their tensors and work for `batch` samples, and no times: what a
/// recording or an estimate fills in. REQUIRES: batch >= 1.
[[nodiscard]] ComputeProfile untimed_profile(const ModelDescription& model, int batch);

/// What `gpu` takes for an iteration of `model`, from counts alone: every layer's kernel_time()
/// with the GPU's efficiencies, an optimizer step, the casts of mixed precision, and the host.
/// - `dtype`: fp32, tf32, or fp16 and bf16 as mixed precision (fp32 master weights).
/// - The iteration is the longer of the device's and what launch_bound() tells, so small batches on
///   fast GPUs are bound by launches.
/// Source kind "analytic"; model_error is `analytic_error`. No jitter, no overlap factors.
/// REQUIRES: batch >= 1; supports(gpu, dtype); gpu.efficiency has what executes it.
[[nodiscard]] ComputeProfile analytic_profile(const ModelDescription& model, const GpuSpec& gpu,
                                              int batch, const std::string& dtype,
                                              const AnalyticOptions& options = {});

}  // namespace gradwire
