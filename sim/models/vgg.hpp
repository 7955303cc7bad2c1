#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// VGG configurations D and E (Simonyan and Zisserman, arXiv 1409.1556) as torchvision/models/vgg.py
// builds them, without batch norm. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription vgg16(const ModelOptions& options);
[[nodiscard]] ModelDescription vgg19(const ModelOptions& options);

}  // namespace gradwire
