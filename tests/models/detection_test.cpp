#include <cstdint>
#include <string>
#include <vector>

#include "sim/models/image_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

/// Multiply-accumulates forward of the layers whose names begin so, in G.
double gmac(const ModelDescription& model, const std::string& prefix) {
  double flops = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.name.starts_with(prefix)) flops += layer.forward.flops;
  }
  return flops * 0.5e-9;
}

}  // namespace

TEST_CASE("SSD300 has the parameters of NVIDIA's code", "[models]") {
  // ResNet-50 without its last stage (torchvision: 14,964,736) and classifier; five blocks of a 1x1
  // and a 3x3 convolution with their norms; 4 + 81 numbers for each box, of maps of 1024, 512, 512,
  // 256, 256, 256 channels with 4, 6, 6, 6, 4, 4 boxes
  const auto block = [](std::int64_t in, std::int64_t inside, std::int64_t out) {
    return in * inside + 2 * inside + 9 * inside * out + 2 * out;
  };
  const std::int64_t backbone = 25'557'032 - 14'964'736 - 2049 * 1000;
  const std::int64_t blocks = block(1024, 256, 512) + block(512, 256, 512) + block(512, 128, 256) +
                              2 * block(256, 128, 256);
  const std::int64_t heads =
      85 * (9 * (1024 * 4 + 512 * 6 + 512 * 6 + 256 * 6 + 256 * 4 + 256 * 4) + 30);
  CHECK(ssd300({}).parameter_count() == backbone + blocks + heads);
  CHECK(ssd300({}).parameter_count() == 22'894'902);
  ModelOptions voc;
  voc.classes = 21;
  CHECK(ssd300(voc).parameter_count() == backbone + blocks + heads / 85 * 25);
}

TEST_CASE("SSD300 has the 8732 boxes of its paper", "[models]") {
  // maps of 38, 19, 10, 5, 3 and 1 places a side, as ssd/model.py has them
  const ModelDescription model = ssd300({});
  const std::vector<std::int64_t> sides = {38, 19, 10, 5, 3, 1};
  const std::vector<std::int64_t> boxes = {4, 6, 6, 6, 4, 4};
  std::int64_t all = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const ConvolutionShape shape = *test::layer(model, "conf." + std::to_string(i)).convolution;
    CHECK(shape.out_height == sides[i]);
    CHECK(shape.out_channels == 81 * boxes[i]);
    all += boxes[i] * shape.out_height * shape.out_width;
  }
  CHECK(all == 8732);  // Liu et al., section 3.1
  CHECK(test::layer(model, "locs.cat").result == 4.0 * 8732);
}

TEST_CASE("SSD300's locations are registered before its confidences and run between them",
          "[models]") {
  const ModelDescription model = ssd300({});
  const auto registered = test::names(model, model.registration_order);
  CHECK(registered.front() == "feature_extractor.feature_extractor.0.weight");
  CHECK(std::vector<std::string>(registered.end() - 14, registered.end() - 10) ==
        std::vector<std::string>{"loc.5.weight", "loc.5.bias", "conf.0.weight", "conf.0.bias"});
  const auto ready = test::names(model, model.gradient_order);
  CHECK(std::vector<std::string>(ready.begin(), ready.begin() + 4) ==
        std::vector<std::string>{"conf.5.bias", "conf.5.weight", "loc.5.bias", "loc.5.weight"});
}

TEST_CASE("Mask R-CNN trains torchvision's parameters less those that it freezes", "[models]") {
  // maskrcnn_resnet50_fpn, num_params of its weights: 44,401,393, of which the stem's 3 x 64 x 49
  // and the first stage's 64 x (64 + 576 + 256 + 256) + 2 x (256 x 64 + 576 x 64 + 64 x 256) do not
  // train
  const std::int64_t frozen =
      3 * 64 * 49 + 64 * (64 + 576 + 256 + 256) + 2 * 64 * (256 + 576 + 256);
  CHECK(mask_rcnn({}).parameter_count() == 44'401'393 - frozen);
  CHECK(frozen == 222'400);
  // norms keep four vectors: 64 and what resnet50 has behind it, 26,560 channels in 53
  CHECK(mask_rcnn({}).buffers == 4 * 53);
  CHECK(mask_rcnn({}).buffer_elements == 4 * 26'560);
}

TEST_CASE("Mask R-CNN's FLOPs are those of its parts, the dense ones' published", "[models]") {
  const ModelDescription model = mask_rcnn({});
  // All but the regions' heads grow with the image's area. Detectron2's tests/test_model_analysis:
  // 117 G (rounded down) for backbone and proposals of 800 x 800; here 800 x 1344. Its strides are
  // in the 1x1 convolutions (v1), which compute on a quarter of the places.
  const double dense = gmac(model, "backbone.") + gmac(model, "rpn.");
  double of_v1 = dense;
  for (const char* stage : {"2", "3", "4"}) {
    of_v1 -= 0.75 * gmac(model, std::string("backbone.body.layer") + stage + ".0.conv1");
  }
  CHECK(static_cast<int>(of_v1 * 800 / 1344) == 117);
  // 512 regions of 256 x 7 x 7 through two layers of 1024, to 91 kinds and as many boxes
  CHECK(gmac(model, "roi_heads.box_") ==
        Approx(512e-9 * (256.0 * 49 * 1024 + 1024.0 * 1024 + 1024.0 * 5 * 91)));
  // 128 of 14 x 14 through four convolutions of 256, one that doubles the side, and 91 masks
  const double convolutions = 196.0 * 256 * (4 * 9 * 256 + 4 * 256);
  CHECK(gmac(model, "roi_heads.mask_") == Approx(128e-9 * (convolutions + 784.0 * 256 * 91)));
}

TEST_CASE("Backward ends where Mask R-CNN's frozen layers begin", "[models]") {
  const ModelDescription model = mask_rcnn({});
  const auto trains = [&](const std::string& name) {
    const ModelLayer& layer = test::layer(model, "backbone.body." + name);
    return layer.backward.flops / layer.forward.flops;
  };
  CHECK(trains("conv1") == 0);
  CHECK(trains("layer1.2.conv3") == 0);
  // gradients of the weights alone, then of both
  CHECK(trains("layer2.0.conv1") == 1);
  CHECK(trains("layer2.0.downsample.0") == 1);
  CHECK(trains("layer2.0.conv2") == 2);
  // nothing is kept of them: the first that keeps holds the first stage's result, 256 x 200 x 336
  CHECK(test::layer(model, "backbone.body.layer1.2.conv3").kept == 0);
  CHECK(test::layer(model, "maxpool").kept_bytes == 0);
  CHECK(test::layer(model, "backbone.body.layer2.0.conv1").kept == 256.0 * 200 * 336);
  CHECK(test::names(model, model.gradient_order).back() == "backbone.body.layer2.0.conv1.weight");
}

TEST_CASE("The proposals' head is one for five levels, and complete with the first", "[models]") {
  const ModelDescription model = mask_rcnn({});
  CHECK(test::layer(model, "rpn.head.conv").parameters.size() == 2);
  CHECK(test::layer(model, "rpn.head.conv.level4").parameters.empty());
  // levels of 200 x 336 and every second place of the level before
  CHECK(test::layer(model, "rpn.head.conv").convolution->out_width == 336);
  CHECK(test::layer(model, "rpn.head.conv.level4").convolution->out_width == 21);
  const auto registered = test::names(model, model.registration_order);
  const auto at = [&](const std::string& name) {
    return std::ranges::find(registered, name) - registered.begin();
  };
  // inner_blocks 0 to 3, then layer_blocks 0 to 3, though they run from the deepest up
  CHECK(at("backbone.fpn.inner_blocks.3.weight") == at("backbone.fpn.inner_blocks.0.weight") + 6);
  CHECK(at("backbone.fpn.layer_blocks.0.weight") == at("backbone.fpn.inner_blocks.0.weight") + 8);
  CHECK(at("rpn.head.conv.weight") == at("backbone.fpn.layer_blocks.3.bias") + 1);
}
