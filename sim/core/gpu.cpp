#include "sim/core/gpu.hpp"

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
                                                   "norm",
                                                   "batch_norm",
                                                   "act",
                                                   "add",
                                                   "pool",
                                                   "embed",
                                                   "softmax",
                                                   "other"};
  return classes;
}

}  // namespace gradwire
