#pragma once

#include <cstdint>

#include "sim/models/model.hpp"

namespace gradwire {

/// Which memory-bound operators a framework merges into their neighbours.
/// - none: every operator is a kernel of its own (eager PyTorch, TensorFlow without XLA).
/// - bn_relu: an add after a norm, and an activation after a norm or an add, are done by the norm's
///   kernel (cuDNN's and NVIDIA MXNet's BatchNormAddRelu).
/// - inductor: any activation, add or other elementwise operator is done by the memory-bound kernel
///   before it (TorchInductor, XLA); after matrix work it stays a kernel.
enum class Fusion : std::uint8_t { none, bn_relu, inductor };

/// The model as it runs with `fusion`: a merged operator launches nothing, and moves only what the
/// merged kernel would not have read: of an add its second operand, in backward the saved tensor
/// that its mask or derivative comes from. Its tensors stay where they are.
[[nodiscard]] ModelDescription fused(ModelDescription model, Fusion fusion);

/// Whether the layer is a loss: what it keeps are logits.
[[nodiscard]] bool is_loss(const ModelLayer& layer);

/// The model whose cross entropy is one kernel each way in the logits' own type: forward reads
/// them, backward reads them and writes their gradient in their place (flash-attn's
/// CrossEntropyLoss with inplace_backward, flash_attn/losses/cross_entropy.py).
[[nodiscard]] ModelDescription with_fused_loss(ModelDescription model);

}  // namespace gradwire
