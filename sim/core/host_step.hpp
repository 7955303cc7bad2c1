#pragma once

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

}  // namespace gradwire
