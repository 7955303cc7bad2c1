#pragma once

#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

// GoogLeNet (Szegedy et al., arXiv 1409.4842) as torchvision/models/googlenet.py builds it: batch
// norm after each convolution, 3x3 where the paper has 5x5. Options: image_size (224), classes
// (1000), head: main (default: 6,624,904 parameters, torchvision's published count) or aux (with
// both auxiliary classifiers, as torchvision trains it from scratch: 13,004,888).
[[nodiscard]] ModelDescription googlenet(const ModelOptions& options);

/// The values of `head` of GoogLeNet and Inception v3, the default first.
[[nodiscard]] const std::vector<std::string>& auxiliary_heads();

}  // namespace gradwire
