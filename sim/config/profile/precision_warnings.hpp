#pragma once

#include <optional>
#include <string>

#include "sim/config/profile/analytic_key.hpp"
#include "sim/core/warning.hpp"

namespace gradwire::config {

/// "fp32-without-tf32" where fp32 is asked for and frameworks take TF32 on this GPU: their defaults
/// are torch.backends.cudnn.allow_tf32 (PyTorch 1.7), .cuda.matmul.allow_tf32 (true in 1.7 to
/// 1.11), tf.config.experimental.enable_tensor_float_32_execution (TensorFlow 2.4).
[[nodiscard]] std::optional<Warning> fp32_warning(const GpuSpec& gpu, const std::string& dtype);

/// "half-precision-slower" where mixed precision takes longer than the GPU's TF32 or, without that,
/// fp32, and why: small batches are bound by the thread that launches, which has the casts to
/// launch as well (BERT-Base, batch 8, on hosts of H100 and H200: 20 to 31 % longer in bf16 than in
/// TF32, results/reference/host_iterations.csv), or the GPU has slower kernels of that type.
/// @param profile  what analytic_profile() makes of the job.
[[nodiscard]] std::optional<Warning> half_precision_warning(const AnalyticJob& job,
                                                            const ComputeProfile& profile);

}  // namespace gradwire::config
