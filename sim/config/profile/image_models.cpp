#include "sim/models/image_models.hpp"
#include "sim/config/profile/model_entries.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire::config {
namespace {

Parameters image_options(int side, const std::string& source) {
  return {{"image_size", std::to_string(side), "pixels a side; " + source},
          {"classes", std::to_string(imagenet_classes), "ILSVRC 2012"}};
}

Parameters imagenet_options() {
  return image_options(imagenet_side, "torchvision's reference training");
}

/// Of residual networks with bottlenecks.
Parameters bottleneck_options(int groups, int width_per_group) {
  Parameters parameters = imagenet_options();
  parameters.push_back({"groups", std::to_string(groups), "of the 3x3 convolutions"});
  parameters.push_back({"width_per_group", std::to_string(width_per_group),
                        "channels of a group in the first stage; torchvision models/resnet.py"});
  return parameters;
}

Parameters cifar_options() {
  return {{"image_size", std::to_string(cifar_side), "pixels a side; CIFAR-10"},
          {"classes", std::to_string(cifar_classes), "CIFAR-10"}};
}

Parameters inception_options() {
  return image_options(inception_side, "Szegedy et al., arXiv 1512.00567, 1602.07261");
}

/// torchvision's vision transformers, whose attention timm's do without its copies.
Parameters vit_options() {
  Parameters parameters = imagenet_options();
  parameters.push_back({"attention", multihead_attention,
                        "nn.MultiheadAttention, which copies queries, keys and values; flash: as "
                        "timm's; eager: as timm's before PyTorch 2"});
  return parameters;
}

/// A model that cuts images, or latents of them, into squares of `side` pixels.
ModelEntry in_squares(int side, ModelEntry entry) {
  entry.image_size_min = entry.image_size_step = side;
  return entry;
}

Parameters auxiliary_options(const Parameters& parameters) {
  return with_heads(parameters, auxiliary_heads(), "aux adds the auxiliary classifiers");
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): one list, a line a model
std::vector<ModelEntry> image_models() {
  return {
      {"resnet18", "residual network, 18 layers", imagenet_options(), resnet18, 32},
      {"resnet34", "residual network, 34 layers", imagenet_options(), resnet34, 32},
      {"resnet50", "residual network, 50 layers, v1.5", bottleneck_options(1, 64), resnet50, 32},
      {"resnet101", "residual network, 101 layers, v1.5", bottleneck_options(1, 64), resnet101, 32},
      {"resnet152", "residual network, 152 layers, v1.5", bottleneck_options(1, 64), resnet152, 32},
      {"resnet50_v2", "residual network, 50 layers, norms first", imagenet_options(), resnet50_v2,
       32},
      {"resnet101_v2", "residual network, 101 layers, norms first", imagenet_options(),
       resnet101_v2, 32},
      {"resnet152_v2", "residual network, 152 layers, norms first", imagenet_options(),
       resnet152_v2, 32},
      {"wide_resnet50_2", "residual network, 50 layers of twice the width",
       bottleneck_options(1, 128), wide_resnet50_2, 32},
      {"resnet20", "residual network for CIFAR-10, 20 layers", cifar_options(), resnet20, 4},
      {"resnet56", "residual network for CIFAR-10, 56 layers", cifar_options(), resnet56, 4},
      {"resnet110", "residual network for CIFAR-10, 110 layers", cifar_options(), resnet110, 4},
      {"resnet18_cifar", "residual network of 18 layers, 64 to 512 wide, for CIFAR-10",
       cifar_options(), resnet18_cifar, 8},
      {"wide_resnet28_10", "residual network for CIFAR-10, 28 layers of ten times the width",
       cifar_options(), wide_resnet28_10, 4},
      {"resnext50_32x4d", "ResNeXt, 32 groups 4 wide", bottleneck_options(32, 4), resnext50_32x4d,
       32},
      {"resnext101_32x8d", "ResNeXt, 32 groups 8 wide", bottleneck_options(32, 8), resnext101_32x8d,
       32},
      {"resnext101_32x4d", "ResNeXt, 32 groups 4 wide", bottleneck_options(32, 4), resnext101_32x4d,
       32},
      {"se_resnext101_32x4d", "ResNeXt with squeeze-and-excitation", bottleneck_options(32, 4),
       se_resnext101_32x4d, 32},
      {"vgg11", "VGG, configuration A, without batch norm", imagenet_options(), vgg11, 32},
      {"vgg13", "VGG, configuration B, without batch norm", imagenet_options(), vgg13, 32},
      {"vgg16", "VGG, configuration D, without batch norm", imagenet_options(), vgg16, 32},
      {"vgg19", "VGG, configuration E, without batch norm", imagenet_options(), vgg19, 32},
      {"vgg16_cifar",
       "VGG for CIFAR-10, configuration D, with batch norm",
       {cifar_options().back()},
       vgg16_cifar},
      {"alexnet", "AlexNet, one column", imagenet_options(), alexnet, 63},
      {"googlenet", "Inception v1 with batch norm", auxiliary_options(imagenet_options()),
       googlenet, 32, 0, auxiliary_heads()},
      {"densenet121", "DenseNet-BC, 121 layers", imagenet_options(), densenet121, 32},
      {"densenet161", "DenseNet-BC, 161 layers, 48 channels a layer", imagenet_options(),
       densenet161, 32},
      {"densenet201", "DenseNet-BC, 201 layers", imagenet_options(), densenet201, 32},
      {"inception_v3", "Inception v3", auxiliary_options(inception_options()), inception_v3, 75, 0,
       auxiliary_heads()},
      {"inception_v4", "Inception v4", inception_options(), inception_v4, 75},
      {"xception", "Xception", inception_options(), xception, 65},
      {"nasnet_a_large", "NASNet-A, 6 cells a stage, 4032 channels",
       image_options(nasnet_large_side, "Zoph et al., table 2"), nasnet_a_large, 32},
      {"nasnet_a_mobile", "NASNet-A, 4 cells a stage, 1056 channels", imagenet_options(),
       nasnet_a_mobile, 32},
      {"mobilenet_v1", "MobileNet, convolutions by channel", imagenet_options(), mobilenet_v1, 32},
      {"mobilenet_v2", "MobileNet, inverted residuals", imagenet_options(), mobilenet_v2, 32},
      {"mobilenet_v3_large", "MobileNet, searched, large", imagenet_options(), mobilenet_v3_large,
       32},
      {"mobilenet_v3_small", "MobileNet, searched, small", imagenet_options(), mobilenet_v3_small,
       32},
      {"efficientnet_b0", "EfficientNet, the base", imagenet_options(), efficientnet_b0, 32},
      {"efficientnet_b4", "EfficientNet, 1.4 times as wide, 1.8 times as deep",
       image_options(efficientnet_b4_side, "Tan and Le, efficientnet_builder.py"), efficientnet_b4,
       32},
      {"efficientnet_v2_s", "EfficientNet v2, small",
       image_options(efficientnet_v2_s_side, "torchvision's reference training; judged at 384"),
       efficientnet_v2_s, 33},
      in_squares(16, {"vit_s_16", "Vision Transformer, small, patches of 16 pixels",
                      imagenet_options(), vit_s_16}),
      in_squares(16, {"vit_b_16", "Vision Transformer, base, patches of 16 pixels", vit_options(),
                      vit_b_16}),
      in_squares(16, {"vit_l_16", "Vision Transformer, large, patches of 16 pixels", vit_options(),
                      vit_l_16}),
      in_squares(14, {"vit_h_14", "Vision Transformer, huge, patches of 14 pixels", vit_options(),
                      vit_h_14}),
      {"swin_t", "Swin Transformer, tiny, windows of 7 patches", imagenet_options(), swin_t, 32},
      {"swin_s", "Swin Transformer, small, windows of 7 patches", imagenet_options(), swin_s, 32},
      {"swin_b", "Swin Transformer, base, windows of 7 patches", imagenet_options(), swin_b, 32},
      {"convnext_tiny", "ConvNeXt, tiny", imagenet_options(), convnext_tiny, 32},
      {"convnext_base", "ConvNeXt, base", imagenet_options(), convnext_base, 32},
      {.name = "ssd300",
       .summary = "SSD on ResNet-50, 300 pixels",
       .parameters = {{"classes", std::to_string(coco_labels), "COCO, with the background"}},
       .make = ssd300},
      {"mask_rcnn",
       "Mask R-CNN on ResNet-50 and a feature pyramid",
       {{"image_size", std::to_string(coco_side),
         "pixels of the shorter side, the longer has 5/3; torchvision models/detection"},
        {"classes", std::to_string(coco_numbers), "COCO's numbers, with the background"}},
       mask_rcnn,
       64},
      in_squares(16, {"dit_b_2", "Diffusion Transformer, base, patches of 2",
                      image_options(dit_side, "Peebles and Xie, table 4"), dit_b_2}),
      in_squares(16, {"dit_xl_2", "Diffusion Transformer, extra large, patches of 2",
                      image_options(dit_side, "Peebles and Xie, table 4"), dit_xl_2}),
      in_squares(64, {"sd_unet",
                      "U-Net of Stable Diffusion 1.x",
                      {image_options(sd_side, "Stable Diffusion 1.x").front()},
                      sd_unet}),
  };
}

}  // namespace gradwire::config
