#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Inception v4 (Szegedy et al., arXiv 1602.07261) as timm/models/inception_v4.py builds it.
// Options: image_size (299, at least 75), classes (1000).
[[nodiscard]] ModelDescription inception_v4(const ModelOptions& options);

}  // namespace gradwire
