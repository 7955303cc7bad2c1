#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// ResNet v1.5 (He et al., arXiv 1512.03385; stride in the 3x3 convolution), ResNeXt (Xie et al.,
// arXiv 1611.05431) and the wide one (Zagoruyko and Komodakis, arXiv 1605.07146) as
// torchvision/models/resnet.py builds them; SE-ResNeXt (Hu et al., arXiv 1709.01507) as NVIDIA's
// DeepLearningExamples do. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription resnet18(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet34(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet50(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet101(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet152(const ModelOptions& options);
[[nodiscard]] ModelDescription resnext50_32x4d(const ModelOptions& options);
[[nodiscard]] ModelDescription resnext101_32x4d(const ModelOptions& options);
[[nodiscard]] ModelDescription resnext101_32x8d(const ModelOptions& options);
[[nodiscard]] ModelDescription se_resnext101_32x4d(const ModelOptions& options);
[[nodiscard]] ModelDescription wide_resnet50_2(const ModelOptions& options);

}  // namespace gradwire
