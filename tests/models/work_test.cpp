#include <cstdint>

#include "sim/config/profile/model_catalogue.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

ModelDescription make(const std::string& name, const ModelOptions& options = {}) {
  const auto& catalogue = config::model_catalogue();
  return std::ranges::find(catalogue, name, &config::ModelEntry::name)->make(options);
}

ModelOptions with_sequence(int length) {
  ModelOptions options;
  options.sequence_length = length;
  return options;
}

}  // namespace

TEST_CASE("Forward GFLOP of the image networks are twice the published multiply-accumulates",
          "[models]") {
  struct Published {
    const char* name;
    double gmac;
  };
  // torchvision's documentation, column GFLOPS, which counts multiply-accumulates; MobileNet v1:
  // 569 M, table 8 of its paper; Xception: 8.40, timm's table
  const auto published = GENERATE(
      Published{"resnet50", 4.089}, Published{"resnet18", 1.814}, Published{"resnet34", 3.664},
      Published{"wide_resnet50_2", 11.398}, Published{"mobilenet_v1", 0.569},
      Published{"mobilenet_v2", 0.301}, Published{"mobilenet_v3_large", 0.217},
      Published{"mobilenet_v3_small", 0.057}, Published{"efficientnet_b0", 0.386},
      Published{"efficientnet_b4", 4.394}, Published{"resnet101", 7.801},
      Published{"resnet152", 11.514}, Published{"resnext50_32x4d", 4.230},
      Published{"resnext101_32x8d", 16.414}, Published{"vgg16", 15.470}, Published{"vgg19", 19.632},
      Published{"alexnet", 0.714}, Published{"googlenet", 1.498}, Published{"densenet121", 2.834},
      Published{"densenet201", 4.291}, Published{"inception_v3", 5.713},
      Published{"vit_b_16", 17.564}, Published{"vit_l_16", 61.555}, Published{"vit_h_14", 167.295},
      Published{"swin_t", 4.491}, Published{"swin_s", 8.741}, Published{"swin_b", 15.431},
      Published{"convnext_tiny", 4.456}, Published{"convnext_base", 15.355});
  CAPTURE(published.name);
  CHECK(test::forward_gflop(make(published.name)) == Approx(2 * published.gmac).margin(2e-3));
}

TEST_CASE("FLOPs of the wide networks for CIFAR-10 are those of their definitions", "[models]") {
  // Multiply-accumulates at each of 32 x 32 places, a quarter from stage to stage. ResNet-18: the
  // stem 27 w, four convolutions 9 w^2 of w = 64 x 2^s; in stages s > 0 the first has half as many
  // inputs, as has the shortcut of 1 x 1
  double places = 32 * 32;
  double gmac = places * 27 * 64;
  for (double w = 64; w <= 512; w *= 2, places /= 4) {
    const double narrower = w > 64 ? 4.5 * w * w - w * w / 2 : 0;
    gmac += places * (36 * w * w - narrower);
  }
  CHECK(test::forward_gflop(make("resnet18_cifar")) == Approx(2e-9 * (gmac + 5120)));
  CHECK(gmac * 1e-9 == Approx(0.556).margin(1e-3));
  // WRN-28-10: as its parameters are counted
  places = 32 * 32;
  gmac = places * 27 * 16;
  for (const auto& [i, w] : {std::pair{16, 160}, std::pair{160, 320}, std::pair{320, 640}}) {
    gmac += places * (10 * i * w + 63 * w * w);
    places /= 4;
  }
  CHECK(test::forward_gflop(make("wide_resnet28_10")) == Approx(2e-9 * (gmac + 6400)));
}

TEST_CASE("Xception's and EfficientNet v2's FLOPs are those of their tables", "[models]") {
  // 8.4 G multiply-accumulates in timm's table of results
  CHECK(test::forward_gflop(make("xception")) == Approx(2 * 8.4).epsilon(1e-2));
  // torchvision's documentation, at 384 pixels
  ModelOptions options;
  options.image_size = 384;
  CHECK(test::forward_gflop(make("efficientnet_v2_s", options)) == Approx(2 * 8.366).margin(2e-3));
}

TEST_CASE("NASNet-A's multiply-accumulates are those of its paper", "[models]") {
  // Zoph et al., tables 2 and 3: 23.8 G at 331 pixels, 564 M at 224
  CHECK(test::forward_gflop(make("nasnet_a_large")) == Approx(2 * 23.8).epsilon(2e-3));
  CHECK(test::forward_gflop(make("nasnet_a_mobile")) == Approx(2 * 0.564).epsilon(2e-3));
}

TEST_CASE("DiT's FLOPs are those of its paper, which counts multiply-accumulates", "[models]") {
  // Peebles and Xie, table 4: 118.64 and 23.01 G at 256 pixels
  CHECK(test::forward_gflop(make("dit_xl_2")) == Approx(2 * 118.64).epsilon(3e-3));
  CHECK(test::forward_gflop(make("dit_b_2")) == Approx(2 * 23.01).epsilon(3e-3));
}

TEST_CASE("Stable Diffusion's U-Net has the published multiply-accumulates", "[models]") {
  // 339 G for 512 x 512 (Kim et al., BK-SDM, arXiv 2305.15798, table 1), of its modules: the
  // products within attention are none
  const ModelDescription model = make("sd_unet");
  double flops = 0;
  for (const ModelLayer& layer : model.layers) {
    if (!layer.fused_attention) flops += layer.forward.flops;
  }
  CHECK(flops * 1e-9 == Approx(2 * 339).epsilon(5e-3));
}

TEST_CASE("T5's, BART's and GNMT's FLOPs are those of their definitions", "[models]") {
  // BART base, s = 512 both ways: a layer of the encoder 24 s h^2 + 4 s^2 h, of the decoder 8 s h^2
  // + 4 s^2 h more; the projection 2 s h v
  const double h = 768;
  const double s = 512;
  const double encoder = 24 * s * h * h + 4 * s * s * h;
  const double decoder = encoder + 8 * s * h * h + 4 * s * s * h;
  CHECK(test::forward_gflop(make("bart_base")) ==
        Approx((6 * (encoder + decoder) + 2 * s * h * 50265) * 1e-9));
  // T5 base, target of t = 114: keys and values of its second attention are of the source
  const double t = 114;
  const double second = 4 * t * h * h + 4 * s * h * h + 4 * t * s * h;
  CHECK(test::forward_gflop(make("t5_base")) ==
        Approx((12 * (encoder + 24 * t * h * h + 4 * t * t * h + second) + 2 * t * h * 32128) *
               1e-9));
  // GNMT, 32 tokens both ways: LSTM layers 2 x 4 w (i + w) a token, of which three of w inputs and
  // one of 2 w, one more for the other direction, in the decoder one of w and three of 2 w; the
  // attention's two projections and its context; the classifier
  const double w = 1024;
  const double layers = 5 * 2 * 4 * w * 2 * w + 4 * 2 * 4 * w * 3 * w;
  CHECK(test::forward_gflop(make("gnmt")) ==
        Approx(32 * (layers + 2 * 2 * w * w + 2 * 32 * w + 2 * w * 32320) * 1e-9));
}

TEST_CASE("A convolution's FLOPs follow from the shapes of its weight and its output", "[models]") {
  for (const config::ModelEntry& entry : config::model_catalogue()) {
    const ModelDescription model = entry.make({});
    bool first = true;
    for (const ModelLayer& layer : model.layers) {
      if (!layer.convolution) continue;
      CAPTURE(entry.name, layer.name);
      // each element of the weight meets each place of the output once, in one of the groups
      const ConvolutionShape& shape = *layer.convolution;
      const std::int64_t weight = shape.out_channels * shape.in_channels / shape.groups *
                                  shape.kernel_height * shape.kernel_width;
      if (!layer.parameters.empty()) CHECK(layer.parameters.front().elements() == weight);
      const auto flops = static_cast<double>(2 * weight * shape.out_height * shape.out_width);
      CHECK(layer.forward.flops == flops);
      // gradients of weight and input; the first layer's input needs none (of what is frozen:
      // detection_test.cpp)
      if (entry.name == "mask_rcnn") continue;
      CHECK(layer.backward.flops == (first ? 1 : 2) * flops);
      first = false;
    }
  }
}

TEST_CASE("BERT's FLOPs are those of its definition", "[models]") {
  // research on analytic profiles: layers x (24 s h^2 + 4 s^2 h), and the masked positions' head
  CHECK(test::forward_gflop(bert_base({})) == Approx(23.31).epsilon(1e-3));
  CHECK(test::forward_gflop(bert_large({})) == Approx(80.21).epsilon(1e-3));
  CHECK(test::forward_gflop(bert_large(with_sequence(512))) == Approx(339.9).epsilon(1e-3));
  ModelOptions encoder = with_sequence(64);
  encoder.head = "none";
  const double s = 64;
  const double h = 768;
  CHECK(test::forward_gflop(bert_base(encoder)) ==
        Approx((12 * (24 * s * h * h + 4 * s * s * h) + 2 * h * h) * 1e-9));  // and the pooler
}

TEST_CASE("GPT-2's FLOPs are those of its definition", "[models]") {
  // layers x (24 s h^2 + 4 s^2 h) + 2 s h v
  const double s = 1024;
  const double h = 1600;
  const double v = 50257;
  CHECK(test::forward_gflop(gpt2_xl({})) ==
        Approx((48 * (24 * s * h * h + 4 * s * s * h) + 2 * s * h * v) * 1e-9));
}

TEST_CASE("The Transformer's and the LSTM's FLOPs are those of their definitions", "[models]") {
  // encoder layer 24 s h^2 + 4 s^2 h (inner = 4 h), decoder layer 8 s h^2 + 4 s^2 h more,
  // projection
  const double s = 32;
  const double h = 512;
  const double v = 37000;
  const double encoder = 24 * s * h * h + 4 * s * s * h;
  const double decoder = encoder + 8 * s * h * h + 4 * s * s * h;
  CHECK(test::forward_gflop(transformer_wmt({})) ==
        Approx((6 * (encoder + decoder) + 2 * s * h * v) * 1e-9));
  // 2 layers: s steps of [1, 2 w] x [2 w, 4 w]; decoder
  const double w = 1500;
  CHECK(test::forward_gflop(lstm_ptb({})) ==
        Approx((2 * 35 * 2 * 2 * w * 4 * w + 2 * 35 * w * 10000) * 1e-9));
}

TEST_CASE("A sampled softmax computes on the sampled words alone", "[models]") {
  // 20 steps: gates 2 x 1024 x 8192, projection 2 x 2048 x 512, logits 2 x 512 x (8192 + 1)
  const ModelDescription model = make("lm_1b");
  CHECK(test::forward_gflop(model) ==
        Approx(20 * 2e-9 * (1024.0 * 8192 + 2048.0 * 512 + 512.0 * 8193)));
  // a step brings back what was projected, so that W's lower half is read again 19 times
  CHECK(test::layer(model, "lstm").weights_read_again == 19.0 * 8192 * 512);
  const ModelLayer& lookup = test::layer(model, "softmax.lookup");
  CHECK(lookup.kind == "embed");  // whose first tensor's gradient backward writes
  CHECK(lookup.parameters.front().name == "softmax_w");
  CHECK(test::names(model, model.registration_order) ==
        std::vector<std::string>{"emb.weight", "softmax_w", "softmax_b", "lstm.W", "lstm.B",
                                 "lstm.W_P"});
}

TEST_CASE("Memory-bound operators move what their kernels read and write", "[models]") {
  const ModelDescription model = resnet50({});
  const double n = 64.0 * 112 * 112;  // elements behind conv1
  // batch norm: x twice and y; then x and dy twice and dx
  CHECK(test::layer(model, "bn1").forward.elements == 3 * n);
  CHECK(test::layer(model, "bn1").backward.elements == 5 * n);
  // ReLU: x, y; then dy, y, dx
  CHECK(test::layer(model, "relu").forward.elements == 2 * n);
  CHECK(test::layer(model, "relu").backward.elements == 3 * n);
  // the first convolution: image and output; its backward reads both for the weight's gradient
  CHECK(test::layer(model, "conv1").forward.elements == 3.0 * 224 * 224 + n);
  CHECK(test::layer(model, "conv1").backward.elements == 3.0 * 224 * 224 + n);
  // a later one does so for the input's gradient, too
  const ModelLayer& later = test::layer(model, "layer1.0.conv1");
  CHECK(later.backward.elements == 2 * later.forward.elements);
  // an addition has no backward work
  CHECK(test::layer(model, "layer1.0.add").backward.kernels == 0);
}

TEST_CASE("The gradients of a value with two readers are summed once", "[models]") {
  const ModelDescription model = resnet50({});
  // block 1 reads the 256 x 56 x 56 elements of block 0 by its first convolution and its addition
  const ModelLayer& sum = test::layer(model, "layer1.1.conv1.grad_sum");
  CHECK(sum.kind == "add");
  CHECK(sum.forward.kernels == 0);
  CHECK(sum.forward.elements == 0);
  CHECK(sum.backward.elements == 3.0 * 256 * 56 * 56);
  // one for each of the 16 blocks: 4 with a convolution as shortcut, 12 without
  CHECK(std::ranges::count_if(model.layers, [](const ModelLayer& layer) {
          return layer.name.ends_with(".grad_sum");
        }) == 16);
}

TEST_CASE("DenseNet sums the gradients of a feature once for each later reader", "[models]") {
  const ModelDescription model = make("densenet121");
  // Block 1: 7 concatenations (6 layers and the end), each of all features before. Features of
  // layer i are read 7 - i times and the input's 64 channels 7 times; all but the last time adds.
  // 3 x (64 x 6 + 32 x (5 + 4 + 3 + 2 + 1 + 0)) x 56^2
  double moved = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.name.starts_with("features.denseblock1.") && layer.name.ends_with(".grad_sum")) {
      moved += layer.backward.elements;
    }
  }
  CHECK(moved == 3.0 * (64 * 6 + 32 * 15) * 56 * 56);
}

TEST_CASE("A larger image changes the work and no tensor", "[models]") {
  ModelOptions options;
  options.image_size = 448;
  const ModelDescription model = resnet50(options);
  CHECK(model.parameter_count() == 25'557'032);
  CHECK(test::layer(model, "conv1").forward.flops ==
        4 * test::layer(resnet50({}), "conv1").forward.flops);
}

TEST_CASE("Every model takes the smallest image that it says it takes", "[models]") {
  for (const config::ModelEntry& entry : config::model_catalogue()) {
    if (entry.image_size_min == 0) continue;
    ModelOptions options;
    options.image_size = entry.image_size_min;
    CAPTURE(entry.name);
    // a table of positions has a row a patch, and one for the class
    const bool has_patches = entry.name.starts_with("vit");
    const std::int64_t hidden =
        has_patches ? entry.make({}).layers.front().convolution->out_channels : 0;
    const std::int64_t patches =
        static_cast<std::int64_t>(224 / entry.image_size_min) * (224 / entry.image_size_min);
    CHECK(entry.make({}).parameter_count() - entry.make(options).parameter_count() ==
          hidden * (patches - 1));
  }
}
