#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Inception v3 (Szegedy et al., arXiv 1512.00567) as torchvision/models/inception.py builds it.
// Options: image_size (299, at least 75), classes (1000), head: main (default: 23,834,568
// parameters, as the benchmarks of TensorFlow and Horovod train it) or aux (with the auxiliary
// classifier, as torchvision trains it: 27,161,264, its published count).
[[nodiscard]] ModelDescription inception_v3(const ModelOptions& options);

}  // namespace gradwire
