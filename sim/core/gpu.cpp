#include "sim/core/gpu.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {

const std::vector<std::string>& work_classes() {
  static const std::vector<std::string> classes = {"stem",
                                                   "conv1",
                                                   "conv3",
                                                   "conv3_strided",
                                                   "conv_wide",
                                                   "grouped_conv",
                                                   "depthwise_conv",
                                                   "linear",
                                                   "linear_by_8",
                                                   "linear_by_4",
                                                   "linear_by_2",
                                                   "attention",
                                                   "flash_attention",
                                                   "cudnn_attention",
                                                   "norm",
                                                   "layer_norm",
                                                   "batch_norm",
                                                   "act",
                                                   "add",
                                                   "pool",
                                                   "embed",
                                                   "softmax",
                                                   "other",
                                                   "stem_nhwc",
                                                   "conv1_nhwc",
                                                   "conv3_nhwc",
                                                   "conv3_strided_nhwc",
                                                   "conv_wide_nhwc",
                                                   "grouped_conv_nhwc",
                                                   "depthwise_conv_nhwc",
                                                   "batch_norm_nhwc",
                                                   "pool_nhwc"};
  return classes;
}

double KernelConstants::sustained_clock(double power) const {
  const double least = 1.5 * fixed_power;
  const double switching = std::max(power, least) - fixed_power;
  const double clock = std::cbrt(switching / (drawn_power - fixed_power));
  return std::min(1.0, clock * std::min(1.0, power / least));
}

double GpuSpec::power_share(double limit) const {
  return std::min(1.0, kernels.sustained_clock(power_ratio * limit) * clock_ratio);
}

}  // namespace gradwire
