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
                                                   "attention",
                                                   "flash_attention",
                                                   "norm",
                                                   "act",
                                                   "add",
                                                   "pool",
                                                   "embed",
                                                   "softmax",
                                                   "other"};
  return classes;
}

}  // namespace gradwire
