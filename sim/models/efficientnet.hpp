#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// EfficientNet (Tan and Le, arXiv 1905.11946, table 1 and the factors of its code) and its second
// version (arXiv 2104.00298, table 4) as torchvision/models/efficientnet.py builds them. Options:
// image_size (224; b4: 380; v2_s: 300, which it is trained with), classes (1000).
[[nodiscard]] ModelDescription efficientnet_b0(const ModelOptions& options);
[[nodiscard]] ModelDescription efficientnet_b4(const ModelOptions& options);
[[nodiscard]] ModelDescription efficientnet_v2_s(const ModelOptions& options);

}  // namespace gradwire
