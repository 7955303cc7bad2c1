#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/models/decoder.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

// AlexNet with one column (Krizhevsky, arXiv 1404.5997) as torchvision/models/alexnet.py builds it.
// Options: image_size (224, at least 63), classes (1000).
[[nodiscard]] ModelDescription alexnet(const ModelOptions& options);

// ConvNeXt (Liu et al., arXiv 2201.03545) as torchvision/models/convnext.py builds it: convolutions
// by channel of 7x7, then linear layers on each place. From the stem's norm on channels are the
// last, so that the permutations move nothing. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription convnext_tiny(const ModelOptions& options);
[[nodiscard]] ModelDescription convnext_base(const ModelOptions& options);

// DenseNet-BC, growth rate 32, of 161 layers 48 (Huang et al., arXiv 1608.06993) as
// torchvision/models/densenet.py builds it, without checkpointing. Options: image_size (224),
// classes (1000).
[[nodiscard]] ModelDescription densenet121(const ModelOptions& options);
[[nodiscard]] ModelDescription densenet161(const ModelOptions& options);
[[nodiscard]] ModelDescription densenet201(const ModelOptions& options);

/// The denoising U-Net of Stable Diffusion 1.x (Rombach et al., arXiv 2112.10752; its v1-inference
/// settings) as diffusers' UNet2DConditionModel builds it: latents of an eighth of the image's
/// side, 77 tokens of text 768 wide, attention in one kernel. Options: image_size (512, a multiple
/// of 64).
[[nodiscard]] ModelDescription sd_unet(const ModelOptions& options);

// Diffusion Transformers (Peebles and Xie, arXiv 2212.09748, tables 1 and 4) on latents of an
// eighth of the image's side, patches of 2, norms modulated by time and class (adaLN-Zero), as the
// authors' models.py builds them; attention in one kernel. The table of positions is fixed, no
// gradient flows to it. Options: image_size (256, a multiple of 16), classes (1000).
[[nodiscard]] ModelDescription dit_b_2(const ModelOptions& options);
[[nodiscard]] ModelDescription dit_xl_2(const ModelOptions& options);

// EfficientNet (Tan and Le, arXiv 1905.11946, table 1 and the factors of its code) and its second
// version (arXiv 2104.00298, table 4) as torchvision/models/efficientnet.py builds them. Options:
// image_size (224; b4: 380; v2_s: 300, which it is trained with), classes (1000).
[[nodiscard]] ModelDescription efficientnet_b0(const ModelOptions& options);
[[nodiscard]] ModelDescription efficientnet_b4(const ModelOptions& options);
[[nodiscard]] ModelDescription efficientnet_v2_s(const ModelOptions& options);

// GoogLeNet (Szegedy et al., arXiv 1409.4842) as torchvision/models/googlenet.py builds it: batch
// norm after each convolution, 3x3 where the paper has 5x5. Options: image_size (224), classes
// (1000), head: main (default: 6,624,904 parameters, torchvision's published count) or aux (with
// both auxiliary classifiers, as torchvision trains it from scratch: 13,004,888).
[[nodiscard]] ModelDescription googlenet(const ModelOptions& options);

/// The values of `head` of GoogLeNet and Inception v3, the default first.
[[nodiscard]] const std::vector<std::string>& auxiliary_heads();

// Inception v3 (Szegedy et al., arXiv 1512.00567) as torchvision/models/inception.py builds it.
// Options: image_size (299, at least 75), classes (1000), head: main (default: 23,834,568
// parameters, as the benchmarks of TensorFlow and Horovod train it) or aux (with the auxiliary
// classifier, as torchvision trains it: 27,161,264, its published count).
[[nodiscard]] ModelDescription inception_v3(const ModelOptions& options);

// Inception v4 (Szegedy et al., arXiv 1602.07261) as timm/models/inception_v4.py builds it.
// Options: image_size (299, at least 75), classes (1000).
[[nodiscard]] ModelDescription inception_v4(const ModelOptions& options);

// Mask R-CNN (He et al., arXiv 1703.06870) on ResNet-50 and a feature pyramid (Lin et al., arXiv
// 1612.03144), as torchvision/models/detection (maskrcnn_resnet50_fpn with pretrained weights of
// its backbone) trains it on COCO. The stem and the first stage are frozen, norms are fixed. An
// image has the shorter side image_size (800) and the longer 5/3 of it, 1333, padded to multiples
// of 32. What depends on the image is taken at the sampler's limits: 512 regions, a quarter of
// which hold an object and get a mask. Options: image_size, classes (91, the background among
// them).
[[nodiscard]] ModelDescription mask_rcnn(const ModelOptions& options);

// MobileNet: v1 (Howard et al., arXiv 1704.04861, table 1; named as Keras's mobilenet.py does), v2
// (Sandler et al., arXiv 1801.04381) and v3 (Howard et al., arXiv 1905.02244) as torchvision's
// mobilenetv2.py and mobilenetv3.py build them. Options: image_size (224), classes (1000).
[[nodiscard]] ModelDescription mobilenet_v1(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v3_large(const ModelOptions& options);
[[nodiscard]] ModelDescription mobilenet_v3_small(const ModelOptions& options);

// NASNet-A (Zoph et al., arXiv 1707.07012), large (6 @ 4032) and mobile (4 @ 1056), with the
// tensors of Cadene's pretrained-models.pytorch (nasnet.py, nasnet_mobile.py), without auxiliary
// head. Windows are padded evenly on both sides, as in TensorFlow no place is computed and dropped
// again. Options: image_size (331 and 224), classes (1000).
[[nodiscard]] ModelDescription nasnet_a_large(const ModelOptions& options);
[[nodiscard]] ModelDescription nasnet_a_mobile(const ModelOptions& options);

// ResNet v1.5 (He et al., arXiv 1512.03385; stride in the 3x3 convolution), ResNeXt (Xie et al.,
// arXiv 1611.05431) and the wide one (Zagoruyko and Komodakis, arXiv 1605.07146) as
// torchvision/models/resnet.py builds them; SE-ResNeXt (Hu et al., arXiv 1709.01507) as NVIDIA's
// DeepLearningExamples do. Options: image_size (224), classes (1000); of those with bottlenecks
// groups (1, of ResNeXt 32) and width_per_group (64, of the wide one 128, of ResNeXt its name's).
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

// ResNet for CIFAR-10 (He et al., arXiv 1512.03385, section 4.2), shortcuts without parameters
// (option A). Options: image_size (32), classes (10).
[[nodiscard]] ModelDescription resnet20(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet56(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet110(const ModelOptions& options);

// ResNet-18 of ImageNet's widths for CIFAR-10: a first convolution of 3 x 3 that keeps the size, no
// pooling behind it (kuangliu's pytorch-cifar). Options: image_size (32), classes (10).
[[nodiscard]] ModelDescription resnet18_cifar(const ModelOptions& options);

// WRN-28-10, without dropout: norms first, ten times the width of CIFAR-10's ResNets (Zagoruyko and
// Komodakis, arXiv 1605.07146, table 1). Options: image_size (32), classes (10).
[[nodiscard]] ModelDescription wide_resnet28_10(const ModelOptions& options);

// ResNet v2: norm and ReLU come before each convolution (He et al., arXiv 1603.05027, figure 4e),
// as timm/models/resnetv2.py builds resnetv2_50, _101 and _152. Options: image_size (224), classes
// (1000).
[[nodiscard]] ModelDescription resnet50_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet101_v2(const ModelOptions& options);
[[nodiscard]] ModelDescription resnet152_v2(const ModelOptions& options);

// SSD (Liu et al., arXiv 1512.02325) of 300 x 300 pixels on COCO, as NVIDIA's DeepLearningExamples
// (PyTorch/Detection/SSD, ssd/model.py) build it: ResNet-50 up to its third stage, which keeps its
// places, five more halvings, and two convolutions on each of six maps. Option: classes (81, the
// background among them).
[[nodiscard]] ModelDescription ssd300(const ModelOptions& options);

// Swin Transformer (Liu et al., arXiv 2103.14030), patches of 4 pixels and windows of 7 x 7, as
// torchvision/models/swin_transformer.py builds it: attention within windows with its scores in
// memory, every second block's windows shifted by half a side. Options: image_size (224), classes
// (1000).
[[nodiscard]] ModelDescription swin_t(const ModelOptions& options);
[[nodiscard]] ModelDescription swin_s(const ModelOptions& options);
[[nodiscard]] ModelDescription swin_b(const ModelOptions& options);

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

/// nn.MultiheadAttention, as `attention` of a vision transformer names it.
inline constexpr const char* multihead_attention = "multihead";

// Vision Transformers (Dosovitskiy et al., arXiv 2010.11929, table 1) as torchvision builds them:
// patches by a convolution, a class token, learned positions, norm before attention and block, one
// projection for queries, keys and values, attention in one kernel (scaled_dot_product_attention)
// with the copies of nn.MultiheadAttention around it unless `attention` is flash, as timm's have
// it. The small one is Touvron et al.'s (arXiv 2012.12877, table 1), and timm's. Options:
// image_size (224; a multiple of the patch), classes (1000).
[[nodiscard]] ModelDescription vit_s_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_b_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_l_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_h_14(const ModelOptions& options);

/// Xception (Chollet, arXiv 1610.02357, figure 5), tensors named as in Cadene's
/// pretrained-models.pytorch. Options: image_size (299), classes (1000).
[[nodiscard]] ModelDescription xception(const ModelOptions& options);

}  // namespace gradwire
