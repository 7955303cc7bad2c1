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

}  // namespace gradwire
