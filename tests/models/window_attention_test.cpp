#include <string>
#include <vector>

#include "sim/models/image_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

TEST_CASE("Swin's tokens attend within their windows of 49", "[models]") {
  // stage 1: 56 x 56 places, 8 x 8 windows, 3 heads of 32
  const ModelDescription model = swin_t({});
  const ModelLayer& scores = test::layer(model, "features.1.0.attn.scores");
  REQUIRE(scores.product);
  CHECK(scores.product->rows == 49);
  CHECK(scores.product->columns == 49);
  CHECK(scores.product->count == 3 * 64);
  CHECK(scores.forward.flops == 2.0 * 3 * 64 * 49 * 49 * 32);
  // the table of (2 x 7 - 1)^2 distances is registered before the projections, added to all scores
  const ModelLayer& bias = test::layer(model, "features.1.0.attn.bias");
  CHECK(bias.parameters.at(0).shape == std::vector<std::int64_t>{169, 3});
  CHECK(bias.forward.elements == 2.0 * 3 * 64 * 49 * 49);
  const auto registered = test::names(model, model.registration_order);
  CHECK(std::vector<std::string>(registered.begin() + 4, registered.begin() + 8) ==
        std::vector<std::string>{"features.1.0.norm1.weight", "features.1.0.norm1.bias",
                                 "features.1.0.attn.relative_position_bias_table",
                                 "features.1.0.attn.qkv.weight"});
}

TEST_CASE("Swin rolls and masks every second block, but where one window holds all", "[models]") {
  const ModelDescription model = swin_t({});
  const auto has = [&](const std::string& name) {
    return std::ranges::count(model.layers, name, &ModelLayer::name) == 1;
  };
  CHECK(!has("features.1.0.attn.roll"));
  CHECK(has("features.1.1.attn.roll"));
  CHECK(has("features.1.1.attn.mask"));
  CHECK(!has("features.7.1.attn.roll"));
  CHECK(!has("features.7.1.attn.mask"));
  // 224 pixels make whole windows, 256 do not: 64 x 64 places are padded to 70 x 70
  CHECK(!has("features.1.0.attn.pad"));
  ModelOptions larger;
  larger.image_size = 256;
  const ModelDescription padded = swin_t(larger);
  CHECK(test::layer(padded, "features.1.0.attn.scores").product->count == 3 * 100);
  CHECK(padded.parameter_count() == model.parameter_count());
}

TEST_CASE(
    "ConvNeXt's factor of a channel is registered before its block and one depthwise pass is 7 x 7",
    "[models]") {
  const ModelDescription model = convnext_tiny({});
  const auto registered = test::names(model, model.registration_order);
  CHECK(registered.at(4) == "features.1.0.layer_scale");
  CHECK(registered.at(5) == "features.1.0.block.0.weight");
  // depthwise: 49 multiply-accumulates an element of 96 x 56 x 56
  CHECK(test::layer(model, "features.1.0.block.0").forward.flops == 2.0 * 49 * 96 * 56 * 56);
}
