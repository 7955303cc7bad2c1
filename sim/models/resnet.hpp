#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// ResNet v1.5 (He et al., arXiv 1512.03385; stride in the 3x3 convolution) and ResNeXt (Xie et al.,
// arXiv 1611.05431) as torchvision/models/resnet.py builds them. Options: image_size (224),
// classes (1000).
[[nodiscard]] ModelDescription resnet50(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet101(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet152(const ModelOptions& options);
[[nodiscard]] ModelDescription resnext50_32x4d(const ModelOptions& options);
[[nodiscard]] ModelDescription resnext101_32x8d(const ModelOptions& options);

}  // namespace gradwire
