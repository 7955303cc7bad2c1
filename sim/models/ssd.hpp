#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// SSD (Liu et al., arXiv 1512.02325) of 300 x 300 pixels on COCO, as NVIDIA's DeepLearningExamples
// (PyTorch/Detection/SSD, ssd/model.py) build it: ResNet-50 up to its third stage, which keeps its
// places, five more halvings, and two convolutions on each of six maps. Option: classes (81, the
// background among them).
[[nodiscard]] ModelDescription ssd300(const ModelOptions& options);

}  // namespace gradwire
