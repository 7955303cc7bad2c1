#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// NASNet-A (Zoph et al., arXiv 1707.07012), large (6 @ 4032) and mobile (4 @ 1056), with the
// tensors of Cadene's pretrained-models.pytorch (nasnet.py, nasnet_mobile.py), without auxiliary
// head. Windows are padded evenly on both sides, as in TensorFlow no place is computed and dropped
// again. Options: image_size (331 and 224), classes (1000).
[[nodiscard]] ModelDescription nasnet_a_large(const ModelOptions& options);
[[nodiscard]] ModelDescription nasnet_a_mobile(const ModelOptions& options);

}  // namespace gradwire
