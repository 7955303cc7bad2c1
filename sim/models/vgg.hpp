#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// VGG configurations A, B, D and E (Simonyan and Zisserman, arXiv 1409.1556) as
// torchvision/models/vgg.py builds them, without batch norm. Options: image_size (224), classes
// (1000).
[[nodiscard]] ModelDescription vgg11(const ModelOptions& options);
[[nodiscard]] ModelDescription vgg13(const ModelOptions& options);
[[nodiscard]] ModelDescription vgg16(const ModelOptions& options);
[[nodiscard]] ModelDescription vgg19(const ModelOptions& options);

/// Configuration D for CIFAR-10, with batch norm and one linear layer in place of three. Options:
/// classes (10).
[[nodiscard]] ModelDescription vgg16_cifar(const ModelOptions& options);

}  // namespace gradwire
