#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// A convolution that keeps height and width (halves them with stride 2), without bias, its norm
/// and an activation, called NAME.0, NAME.1 and NAME.2 as torchvision's Conv2dNormActivation.
struct NormedConvolution {
  std::int64_t out = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  bool smooth = false;  ///< SiLU, hard swish or ReLU6; else ReLU
};
[[nodiscard]] Activation conv_norm_act(ModelBuilder& net, const std::string& name,
                                       const Activation& input, const NormedConvolution& shape);

/// An inverted residual block: widen, a convolution of each channel by itself, squeeze-and-excite,
/// narrow (Sandler et al., arXiv 1801.04381, section 3.3; Howard et al., arXiv 1905.02244, figure
/// 4). The input is added where the shape stays.
struct InvertedShape {
  std::int64_t expanded = 0;  ///< channels between; as many as the input has: nothing widens
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t out = 0;
  std::int64_t squeezed = 0;  ///< channels of squeeze-and-excitation; 0: none
  bool smooth = false;        ///< SiLU, hard swish or ReLU6; else ReLU
  bool squeeze_smooth = false;
  /// The widening convolution has the kernel, none is by channel (Tan and Le, arXiv 2104.00298,
  /// figure 2); without widening it is the block's only one.
  bool fused = false;
  bool drops = false;            ///< stochastic depth before the addition
  bool bare_projection = false;  ///< the narrowing modules count as the block's own
};
/// @param name  of the nn.Sequential that holds the block's modules, which are numbered.
[[nodiscard]] Activation inverted_residual(ModelBuilder& net, const std::string& name,
                                           const Activation& input, const InvertedShape& shape);

/// `channels` as the nearest multiple of 8 that is at least 90 % of them (torchvision's
/// _make_divisible).
[[nodiscard]] std::int64_t divisible(double channels);

}  // namespace gradwire
