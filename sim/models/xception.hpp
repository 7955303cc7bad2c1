#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

/// Xception (Chollet, arXiv 1610.02357, figure 5), tensors named as in Cadene's
/// pretrained-models.pytorch. Options: image_size (299), classes (1000).
[[nodiscard]] ModelDescription xception(const ModelOptions& options);

}  // namespace gradwire
