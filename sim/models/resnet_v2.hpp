#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// ResNet v2: norm and ReLU come before each convolution (He et al., arXiv 1603.05027, figure 4e),
// as timm/models/resnetv2.py builds resnetv2_50, _101 and _152. Options: image_size (224), classes
// (1000).
[[nodiscard]] ModelDescription resnet50_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet101_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet152_v2(const ModelOptions& options);

}  // namespace gradwire
