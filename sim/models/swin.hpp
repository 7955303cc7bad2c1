#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Swin Transformer (Liu et al., arXiv 2103.14030), patches of 4 pixels and windows of 7 x 7, as
// torchvision/models/swin_transformer.py builds it: attention within windows with its scores in
// memory, every second block's windows shifted by half a side. Options: image_size (224), classes
// (1000).
[[nodiscard]] ModelDescription swin_t(const ModelOptions& options);
[[nodiscard]] ModelDescription swin_s(const ModelOptions& options);
[[nodiscard]] ModelDescription swin_b(const ModelOptions& options);

}  // namespace gradwire
