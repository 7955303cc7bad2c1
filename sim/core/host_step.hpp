#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// What torch.nn.utils.clip_grad_norm_ reads and writes a parameter: gradients once for their norm
/// (_foreach_norm), and once more to be scaled (_foreach_mul_), whatever the norm.
constexpr double clipping_bytes = 12;

/// What an optimizer's step asks of a host that takes it, in fp32. The default is Adam's.
struct HostStep {
  /// Read and written a parameter by torch.optim's operations one after the other, counted.
  double bytes = 72;
  double fused_bytes = 28;  ///< in one pass: all is read once, all but the gradient written once
  int state_bytes = 8;      ///< of a parameter, kept between steps
  bool deepspeed = true;    ///< DeepSpeed has a kernel for it, which takes one pass
};

/// What a host reaches that takes an optimizer's step and holds what a GPU works with. Read from
/// profiles/libraries/offload.yaml, with its sources.
struct HostOffloadRates {
  /// Times as long as the fused Adam's step that torch.optim's takes, one operation after the
  /// other.
  double operations_over_fused = 0;
  BytesPerSecond thread_rate;  ///< of a fused step on one thread
  double reached_alone = 0;    ///< of memory's nominal rate, by a step with all cores; 0 to 1
  /// The same where each of several ranks runs as many threads as the machine has cores.
  double reached_unbound = 0;
  BytesPerSecond pageable_to_gpu;   ///< copies of pageable memory, which the driver stages
  BytesPerSecond pageable_to_host;  ///< the same, the other way
};

}  // namespace gradwire
