#pragma once

#include <cstdint>
#include <string>

#include "sim/core/host_step.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// How an optimizer of PyTorch runs over its tensors.
/// - loop: one after the other, every operation a call and a kernel (`foreach=False`).
/// - foreach: lists of tensors, a few kernels for all (the default on GPUs since PyTorch 2.0).
/// - fused: one kernel for all (`fused=True`).
enum class StepForm : std::uint8_t { loop, foreach, fused };

/// What an optimizer's step costs the GPU, and the host's thread.
struct OptimizerKind {
  std::string name;
  double bytes_per_parameter = 0;  ///< read and written by its kernels, fp32 state
  double fused_bytes = 0;          ///< the same of the one kernel of StepForm::fused, counted
  double graph_bytes = 0;          ///< the same in TensorFlow's graph without XLA, counted
  std::string source;
  int state_bytes = 0;  ///< of a parameter, kept between steps, in fp32
  int list_bytes = 0;  ///< of a parameter, in fp32, in lists that a step of StepForm::foreach makes
  /// Of PyTorch's host thread, for a tensor: its step, and the zeroing of gradients.
  Seconds loop;
  Seconds foreach_step;
  Seconds fused;
  HostStep on_host{};  ///< where parameters and state are in host memory
};

/// Bytes a parameter that a step reads and writes.
[[nodiscard]] double bytes_of(const OptimizerKind& optimizer, StepForm step);

/// Host time of a step over so many tensors in eager PyTorch.
[[nodiscard]] Seconds host_time(const OptimizerKind& optimizer, StepForm step, int tensors);

}  // namespace gradwire
