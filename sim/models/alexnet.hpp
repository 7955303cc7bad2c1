#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// AlexNet with one column (Krizhevsky, arXiv 1404.5997) as torchvision/models/alexnet.py builds it.
// Options: image_size (224, at least 63), classes (1000).
[[nodiscard]] ModelDescription alexnet(const ModelOptions& options);

}  // namespace gradwire
