#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

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

}  // namespace gradwire
