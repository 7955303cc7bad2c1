#pragma once

#include <cstdint>
#include <string>

#include "sim/core/gpu.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// Bytes moved a parameter by the casts of mixed precision in one iteration: the fp32 weight is
/// read and its 2-byte copy written (6 B), the 2-byte gradient read and an fp32 one written (6 B).
/// PyTorch, torch.autocast: weights are cast once an iteration, `.grad` is of the parameter's type.
constexpr double cast_bytes_per_parameter = 12;

/// Bytes moved a parameter where torch.amp.GradScaler takes the loss's scale out of gradients in
/// fp32: one kernel reads and writes them, and tells whether all are finite
/// (_amp_foreach_non_finite_check_and_unscale_). Its step then reads that on the host
/// (grad_scaler.py, _maybe_opt_step: found_inf.item()), which waits for the device.
constexpr double unscale_bytes_per_parameter = 8;

/// Device time of these casts; 0 unless `dtype` is fp16 or bf16.
[[nodiscard]] Seconds cast_time(std::int64_t parameters, const GpuSpec& gpu,
                                const std::string& dtype);

/// Elements of the weights of a layer that torch.autocast casts: of convolutions and products
/// (aten/src/ATen/autocast_mode.h, lower_precision_fp), a tied one's, too.
[[nodiscard]] std::int64_t cast_weights(const ModelLayer& layer);

}  // namespace gradwire
