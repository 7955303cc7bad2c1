#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Mask R-CNN (He et al., arXiv 1703.06870) on ResNet-50 and a feature pyramid (Lin et al., arXiv
// 1612.03144), as torchvision/models/detection (maskrcnn_resnet50_fpn with pretrained weights of
// its backbone) trains it on COCO. The stem and the first stage are frozen, norms are fixed. An
// image has the shorter side image_size (800) and the longer 5/3 of it, 1333, padded to multiples
// of 32. What depends on the image is taken at the sampler's limits: 512 regions, a quarter of
// which hold an object and get a mask. Options: image_size, classes (91, the background among
// them).
[[nodiscard]] ModelDescription mask_rcnn(const ModelOptions& options);

}  // namespace gradwire
