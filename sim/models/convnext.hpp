#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// ConvNeXt (Liu et al., arXiv 2201.03545) as torchvision/models/convnext.py builds it: convolutions
// by channel of 7x7, then linear layers on each place. From the stem's norm on channels are the
// last, so that the permutations move nothing. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription convnext_tiny(const ModelOptions& options);
[[nodiscard]] ModelDescription convnext_base(const ModelOptions& options);

}  // namespace gradwire
