#pragma once

#include <cstdint>

#include "sim/models/model.hpp"

namespace gradwire {

/// How tensors are scaled that are multiplied in 8 bits (Megatron-LM's --fp8-recipe, Transformer
/// Engine's recipes).
/// - none: nothing is.
/// - delayed: by the largest values of past iterations, one scale a tensor; a kernel casts and
///   transposes what it reads once.
/// - tensorwise: by the tensor's own largest value, which a kernel finds first (current scaling;
///   torchao's Float8Linear).
/// - blockwise, mxfp8: a scale for 128 or 32 values, in one kernel.
enum class Fp8Recipe : std::uint8_t { none, delayed, tensorwise, blockwise, mxfp8 };

/// The model whose linear layers in numbered blocks multiply in 8 bits, in all three products, as
/// far as 16 divides what they take and give (cuBLAS, torch._scaled_mm); heads, routers, attention
/// and all else keep their type (torchtitan leaves `output` out, Transformer Engine has no head).
/// Before each of them stands the cast of its input, which casts the gradient of its result in
/// backward. Weights are cast once an iteration: fp8_cast_bytes_per_parameter.
[[nodiscard]] ModelDescription in_fp8(ModelDescription model, Fp8Recipe recipe);

/// Of a weight whose layer multiplies in 8 bits: read in two bytes, written in one and transposed
/// in another, once an iteration (Transformer Engine: is_first_microbatch).
constexpr double fp8_cast_bytes_per_parameter = 4;

/// Weights that are multiplied in 8 bits.
[[nodiscard]] double fp8_weights(const ModelDescription& model);

}  // namespace gradwire
