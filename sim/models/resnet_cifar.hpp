#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// ResNet for CIFAR-10 (He et al., arXiv 1512.03385, section 4.2), shortcuts without parameters
// (option A). Options: image_size (32), classes (10).
[[nodiscard]] ModelDescription resnet20(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet56(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet110(const ModelOptions& options);

}  // namespace gradwire
