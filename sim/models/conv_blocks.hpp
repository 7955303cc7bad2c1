#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"

namespace gradwire {

/// A batch norm that does not train (torchvision's FrozenBatchNorm2d, and Detectron2's): its four
/// vectors are no parameters but buffers. Factor and summand are made of them (5 kernels of no
/// size), then a product and a sum (2 N each); backward the product's (2 N).
[[nodiscard]] Activation frozen_norm(ModelBuilder& net, const std::string& name,
                                     const Activation& input);

/// The gate of a squeeze-and-excitation block.
struct SqueezeShape {
  std::int64_t squeezed = 0;         ///< channels between its two layers
  std::array<std::string, 2> names;  ///< of those layers, behind the block's
  bool linear = false;               ///< nn.Linear; else 1x1 convolutions with biases
  bool smooth = false;               ///< SiLU between them; else ReLU
};

/// Squeeze-and-excitation (Hu et al., arXiv 1709.01507, section 3): the mean of each channel
/// through two layers makes a factor of that channel. The product by it reads and writes the input
/// forward; backward it makes two products, the gradient of the input (2 N) and of the factors (3
/// N), which is then summed (N).
[[nodiscard]] Activation squeeze_excite(ModelBuilder& net, const std::string& name,
                                        const Activation& input, const SqueezeShape& shape);

/// The branch of ResNet's basic block (He et al., arXiv 1512.03385, figure 5 left): two 3x3
/// convolutions to `out` channels, the first with `stride`, each with its norm and a ReLU between,
/// called NAME.conv1, .bn1, .relu1, .conv2, .bn2. The shortcut is the caller's.
[[nodiscard]] Activation basic_branch(ModelBuilder& net, const std::string& name,
                                      const Activation& input, std::int64_t out,
                                      std::int64_t stride);

/// What a ResNet's blocks are made of.
struct ResidualShape {
  bool basic = false;  ///< blocks of two 3x3 convolutions, no bottleneck
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
  bool squeezed = false;  ///< squeeze-and-excitation behind each block's last norm
  /// Norms do not train, and multiply and add what they have learnt (torchvision's
  /// FrozenBatchNorm2d).
  bool frozen_norms = false;
  std::string shortcut = "downsample";  ///< what a block calls the modules beside its branch
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

/// What the networks of the Inception family are made of: a convolution without bias, batch norm
/// and ReLU, called NAME.conv, NAME.bn and NAME.relu.
[[nodiscard]] Activation conv_norm(ModelBuilder& net, const std::string& name,
                                   const Activation& input, const Convolution& shape);

/// One after the other, each by the name beside it.
[[nodiscard]] Activation conv_norms(
    ModelBuilder& net, Activation x,
    const std::vector<std::pair<std::string, Convolution>>& convolutions);

/// The same as an nn.Sequential: NAME.FIRST, NAME.FIRST+1, ...
[[nodiscard]] Activation conv_sequence(ModelBuilder& net, const std::string& name, Activation x,
                                       std::span<const Convolution> convolutions, int first = 0);

// Convolutions that keep height and width, and the one that halves them.
[[nodiscard]] constexpr Convolution conv1x1(std::int64_t out) {
  return {.out = out, .kernel = square(1)};
}
[[nodiscard]] constexpr Convolution conv3x3(std::int64_t out) {
  return {.out = out, .kernel = square(3), .padding = square(1)};
}
/// One row of `length`.
[[nodiscard]] constexpr Convolution row(std::int64_t out, std::int64_t length) {
  return {.out = out, .kernel = {1, length}, .padding = {0, length / 2}};
}
/// One column of `length`.
[[nodiscard]] constexpr Convolution column(std::int64_t out, std::int64_t length) {
  return {.out = out, .kernel = {length, 1}, .padding = {length / 2, 0}};
}
[[nodiscard]] constexpr Convolution conv3x3_half(std::int64_t out) {
  return {.out = out, .kernel = square(3), .stride = 2};
}

/// 3 x 3, stride 1: keeps height and width.
inline constexpr Pooling pool3x3 = {.kernel = square(3), .padding = square(1)};
inline constexpr Pooling pool3x3_half = {.kernel = square(3), .stride = 2};

}  // namespace gradwire
