#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// DenseNet-BC, growth rate 32, of 161 layers 48 (Huang et al., arXiv 1608.06993) as
// torchvision/models/densenet.py builds it, without checkpointing. Options: image_size (224),
// classes (1000).
[[nodiscard]] ModelDescription densenet121(const ModelOptions& options);
[[nodiscard]] ModelDescription densenet161(const ModelOptions& options);
[[nodiscard]] ModelDescription densenet201(const ModelOptions& options);

}  // namespace gradwire
