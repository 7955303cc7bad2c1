#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t image_side = 300;
constexpr std::int64_t ssd_coordinates = 4;

/// A block behind the backbone: 1x1, then 3x3 that halves, or leaves the border away.
struct Narrowing {
  std::int64_t inside = 0;
  std::int64_t out = 0;
  bool halves = true;
};
constexpr std::array<Narrowing, 5> narrowings = {
    {{256, 512}, {256, 512}, {128, 256}, {128, 256, false}, {128, 256, false}}};

constexpr std::array<std::int64_t, 6> boxes_per_place = {4, 6, 6,
                                                         6, 4, 4};  // of each place of a map

Activation backbone(ModelBuilder& net) {
  const std::string name = "feature_extractor.feature_extractor.";
  const ResidualShape shape;
  Activation x = residual_stem(net, {name + "0", name + "1"}, net.image(3, image_side), shape);
  x = residual_stage(net, name + "4", x, {.planes = 64, .blocks = 3}, shape);
  x = residual_stage(net, name + "5", x, {.planes = 128, .blocks = 4, .stride = 2}, shape);
  return residual_stage(net, name + "6", x, {.planes = 256, .blocks = 6}, shape);
}

Activation narrow(ModelBuilder& net, const std::string& name, const Activation& input,
                  const Narrowing& shape) {
  Activation x = net.conv(name + ".0", input, {.out = shape.inside, .kernel = square(1)});
  x = net.act(name + ".2", net.batch_norm(name + ".1", x));
  x = net.conv(name + ".3", x,
               {.out = shape.out,
                .kernel = square(3),
                .stride = shape.halves ? 2 : 1,
                .padding = square(shape.halves ? 1 : 0)});
  return net.act(name + ".5", net.batch_norm(name + ".4", x));
}

/// The losses of all boxes, ranked twice to find the hardest: sorts of a 4-byte key with an 8-byte
/// place, in four passes of 8 bits that read and write both (assumed; cub's radix sort).
void mine(ModelBuilder& net, std::int64_t all) {
  ModelLayer layer;
  layer.name = "loss.mining";
  layer.kind = "other";
  layer.forward = {.elements = 2.0 * 4 * 2 * 3 * static_cast<double>(all), .kernels = 2 * 4};
  layer.backward.kernels = 0;
  net.custom(std::move(layer), {}, {.channels = all});
}

}  // namespace

ModelDescription ssd300(const ModelOptions& options) {
  ModelBuilder net("ssd300",
                   "Liu et al., arXiv 1512.02325, ResNet-50; NVIDIA's DeepLearningExamples, "
                   "PyTorch/Detection/SSD");
  const std::int64_t labels = options.classes.value_or(coco_labels);
  std::vector<Activation> maps = {backbone(net)};
  for (std::size_t i = 0; i < narrowings.size(); ++i) {
    const std::string name = fmt::format("additional_blocks.{}", i);
    maps.push_back(narrow(net, name, maps.back(), narrowings[i]));
  }
  std::vector<Activation> places;
  std::vector<Activation> kinds;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto predict = [&](const char* what, std::int64_t numbers) {
      return ModelBuilder::flatten(net.conv(fmt::format("{}.{}", what, i), maps[i],
                                            {.out = boxes_per_place[i] * numbers,
                                             .kernel = square(3),
                                             .padding = square(1),
                                             .bias = true}));
    };
    places.push_back(predict("loc", ssd_coordinates));
    kinds.push_back(predict("conf", labels));
  }
  net.register_before("loc", "conf");
  const Activation locations = net.concat("locs.cat", places);
  const Activation confidences = net.concat("confs.cat", kinds);
  net.act("loss.smooth_l1", locations);
  net.loss("loss.confidence", confidences);
  mine(net, confidences.channels / labels);
  return net.finish();
}

}  // namespace gradwire
