#include "sim/models/text_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/elementwise.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t filter_features = 64;  // of the filter bank, n_filt
constexpr int repeats = 5;
constexpr double letters_per_frame = 0.14;  // before the halving: 14 a second of speech (assumed)

struct JasperBlock {
  std::int64_t filters = 0;
  std::int64_t kernel = 0;  ///< frames
};
constexpr std::array<JasperBlock, 10> dense_blocks = {{{256, 11},
                                                       {256, 11},
                                                       {384, 13},
                                                       {384, 13},
                                                       {512, 17},
                                                       {512, 17},
                                                       {640, 21},
                                                       {640, 21},
                                                       {768, 25},
                                                       {768, 25}}};

/// Clears what lies behind an utterance's end (masked_fill: 2 N each way; where that is takes four
/// kernels of no size).
Activation masked(ModelBuilder& net, const std::string& name, const Activation& x) {
  return elementwise(net, name + ".masked_fill", "other", {{x}}, {.elements = 2, .kernels = 5},
                     {.elements = 2});
}

/// Module `place` of a list, and its norm. A dilation changes no work.
Activation normed_conv(ModelBuilder& net, const std::string& list, int place, const Activation& x,
                       const JasperBlock& shape, std::int64_t stride = 1) {
  const Activation y = net.conv(fmt::format("{}.{}", list, place), x,
                                {.out = shape.filters,
                                 .kernel = {shape.kernel, 1},
                                 .stride = stride,
                                 .padding = {shape.kernel / 2, 0}});
  return net.batch_norm(fmt::format("{}.{}", list, place + 1), y);
}

Activation masked_conv(ModelBuilder& net, const std::string& list, int place, const Activation& x,
                       const JasperBlock& shape) {
  return normed_conv(net, list, place, masked(net, fmt::format("{}.{}", list, place), x), shape);
}

Activation activated(ModelBuilder& net, const std::string& name, const Activation& x) {
  return net.dropout(name + ".dropout", net.act(name + ".relu", x));
}

/// Convolutions one behind another; before the last activation, what every block before made is
/// added, by a 1x1 convolution each.
/// @param made  the last of which is the input.
Activation dense_block(ModelBuilder& net, const std::string& name,
                       const std::vector<Activation>& made, const JasperBlock& shape) {
  constexpr int modules = 4;  // of a repeat: convolution, norm, activation, dropout
  Activation x = made.back();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    x = masked_conv(net, name + ".conv", modules * repeat, x, shape);
    if (repeat + 1 < repeats) x = activated(net, fmt::format("{}.conv.{}", name, repeat), x);
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::string pane = fmt::format("{}.res.{}", name, i);
    x = net.add(pane + ".add", x,
                masked_conv(net, pane, 0, made[i], {.filters = shape.filters, .kernel = 1}));
  }
  return activated(net, name + ".out", x);
}

/// Each frame against each letter and the blanks between: three passes each way (assumed), in a
/// kernel that goes through the frames.
void align(ModelBuilder& net, const Activation& logits, std::int64_t frames) {
  const double letters = letters_per_frame * static_cast<double>(frames);
  const double pairs = static_cast<double>(logits.height) * (2 * letters + 1);
  ModelLayer layer;
  layer.name = "loss.ctc";
  layer.kind = "other";
  layer.forward = {.elements = 3 * pairs};
  layer.backward = {.elements = 3 * pairs + 2 * static_cast<double>(logits.elements()),
                    .kernels = 2};
  net.custom(std::move(layer), {{logits}}, {.channels = 1});
}

}  // namespace

ModelDescription jasper(const ModelOptions& options) {
  ModelBuilder net("jasper",
                   "Li et al., arXiv 1904.03288, 10x5 dense residual; NVIDIA's "
                   "DeepLearningExamples, PyTorch/SpeechRecognition/Jasper");
  const std::int64_t frames = options.sequence_length.value_or(jasper_frames);
  const auto layer = [](std::size_t i) { return fmt::format("encoder.layers.{}", i); };
  const auto single = [&](std::size_t i, const Activation& input, const JasperBlock& shape) {
    return activated(net, layer(i), masked_conv(net, layer(i) + ".conv", 0, input, shape));
  };
  const std::string first = layer(0) + ".conv";
  Activation x =
      masked(net, first + ".0", net.input({.channels = filter_features, .height = frames}));
  net.freeze();  // the features need no gradient
  std::vector<Activation> made = {
      activated(net, layer(0), normed_conv(net, first, 0, x, {256, 11}, 2))};
  for (const JasperBlock& shape : dense_blocks) {
    made.push_back(dense_block(net, layer(made.size()), made, shape));
  }
  x = single(made.size(), made.back(), {896, 29});  // dilated by 2
  x = single(made.size() + 1, x, {1024, 1});
  x = net.conv(
      "decoder.layers.0", x,
      {.out = options.classes.value_or(jasper_classes), .kernel = square(1), .bias = true});
  align(net, net.loss("log_softmax", x), frames);
  return net.finish();
}

}  // namespace gradwire
