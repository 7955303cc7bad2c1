#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// MobileNet: v1 (Howard et al., arXiv 1704.04861, table 1; named as Keras's mobilenet.py does), v2
// (Sandler et al., arXiv 1801.04381) and v3 (Howard et al., arXiv 1905.02244) as torchvision's
// mobilenetv2.py and mobilenetv3.py build them. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription mobilenet_v1(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v3_large(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v3_small(const ModelOptions& options);

}  // namespace gradwire
