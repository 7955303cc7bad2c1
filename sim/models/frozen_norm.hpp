#pragma once

#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// A batch norm that does not train (torchvision's FrozenBatchNorm2d, and Detectron2's): its four
/// vectors are no parameters but buffers. Factor and summand are made of them (5 kernels of no
/// size), then a product and a sum (2 N each); backward the product's (2 N).
[[nodiscard]] Activation frozen_norm(ModelBuilder& net, const std::string& name,
                                     const Activation& input);

}  // namespace gradwire
