#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// Host time of the call that launches a kernel: median of 4 350 cudaLaunchKernel calls in the V100
/// trace behind profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml; that other hosts take as long is
/// assumed.
constexpr Seconds kernel_launch_call{5.2e-6};

}  // namespace gradwire
