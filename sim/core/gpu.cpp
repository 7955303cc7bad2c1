#include "sim/core/gpu.hpp"

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

double sustained_clock(double power) {
  return std::cbrt(power);
}

}  // namespace gradwire
