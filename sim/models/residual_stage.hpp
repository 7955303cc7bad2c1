#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// What a ResNet's blocks are made of.
struct ResidualShape {
  bool basic = false;  ///< blocks of two 3x3 convolutions, no bottleneck
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
  bool squeezed = false;  ///< squeeze-and-excitation behind each block's last norm
  /// Norms do not train, and multiply and add what they have learnt (torchvision's
  /// FrozenBatchNorm2d).
  bool frozen_norms = false;
};

/// The first convolution, its norm and ReLU, and the pooling; `names` of the two that have tensors.
[[nodiscard]] Activation residual_stem(ModelBuilder& net, const std::array<std::string, 2>& names,
                                       const Activation& image, const ResidualShape& shape);

/// Blocks of one width.
struct ResidualStage {
  std::int64_t planes = 0;  ///< of the 3x3 convolutions, of one group 64 wide
  int blocks = 0;
  std::int64_t stride = 1;  ///< of the first block, in its 3x3 convolution (v1.5)
};

/// Blocks called NAME.0, NAME.1, ... (He et al., arXiv 1512.03385, table 1), tensors named as
/// torchvision's resnet.py does.
[[nodiscard]] Activation residual_stage(ModelBuilder& net, const std::string& name,
                                        const Activation& input, const ResidualStage& stage,
                                        const ResidualShape& shape);

}  // namespace gradwire
