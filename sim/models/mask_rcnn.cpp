#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t padded_to = 32;  // GeneralizedRCNNTransform, size_divisible
constexpr std::int64_t longer_side = 1333;
constexpr std::int64_t pyramid_width = 256;  // of the pyramid and the mask's convolutions
constexpr std::int64_t anchors = 3;          // of a place: the ratios of its sides
constexpr std::int64_t box_coordinates = 4;
constexpr std::int64_t box_hidden = 1024;  // of the box's head

// Regions of an image that the heads learn from, and those that hold an object, at most
// (torchvision mask_rcnn.py: box_batch_size_per_image, box_positive_fraction). The background fills
// up the first; that so many hold an object is assumed, He et al.'s ratio of 1:3.
constexpr std::int64_t regions = 512;
constexpr std::int64_t regions_with_object = regions / 4;
constexpr std::int64_t box_side = 7;
constexpr std::int64_t mask_side = 14;

/// Elements that RoIAlign reads for each that it writes: 2 x 2 samples (sampling_ratio) of four
/// places each.
constexpr double region_reads = 16;

// What turns deltas into proposals: elements moved for an anchor (decoding, clipping, the best of
// each level), and kernels with suppression and matching. Assumed: nothing measured was found.
constexpr double proposal_elements = 64;
constexpr int proposal_kernels = 200;

Convolution conv1(std::int64_t out) {
  return {.out = out, .kernel = square(1), .bias = true};
}

Convolution conv3(std::int64_t out) {
  return {.out = out, .kernel = square(3), .padding = square(1), .bias = true};
}

/// The four stages' maps.
std::vector<Activation> body(ModelBuilder& net, std::int64_t side) {
  const auto padded = [](std::int64_t pixels) {
    return (pixels + padded_to - 1) / padded_to * padded_to;
  };
  const std::string name = "backbone.body.";
  const ResidualShape shape = {.frozen_norms = true};
  const Activation image = net.input(
      {.channels = 3, .height = padded(side), .width = padded(side * longer_side / coco_side)});
  Activation x = residual_stem(net, {name + "conv1", name + "bn1"}, image, shape);
  std::vector<Activation> maps;
  for (const auto& [planes, blocks] : {std::pair{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
    const std::int64_t stride = maps.empty() ? 1 : 2;
    x = residual_stage(net, fmt::format("{}layer{}", name, maps.size() + 1), x,
                       {.planes = planes, .blocks = blocks, .stride = stride}, shape);
    if (maps.empty()) net.freeze();
    maps.push_back(x);
  }
  return maps;
}

/// The nearest neighbour of each place of a map as large as `to`.
Activation enlarged(ModelBuilder& net, const std::string& name, const Activation& input,
                    const Activation& to) {
  const double moved = input.count() + to.count();
  return net.custom(operation(name, "pool", {.elements = moved}, {.elements = moved}), {{input}},
                    to);
}

/// From the deepest map up; the last of what it gives is half as large as the deepest.
std::vector<Activation> pyramid(ModelBuilder& net, const std::vector<Activation>& maps) {
  const std::string name = "backbone.fpn.";
  std::vector<Activation> levels(maps.size());
  Activation above;
  for (std::size_t i = maps.size(); i-- > 0;) {
    const auto named = [&](const char* what) { return fmt::format("{}{}.{}", name, what, i); };
    Activation x = net.conv(named("inner_blocks"), maps[i], conv1(pyramid_width));
    if (i + 1 < maps.size()) {
      x = net.add(named("add"), x, enlarged(net, named("interpolate"), above, x));
    }
    above = x;
    levels[i] = net.conv(named("layer_blocks"), x, conv3(pyramid_width));
  }
  for (const std::string& blocks : {name + "inner_blocks.", name + "layer_blocks."}) {
    for (std::size_t i = 0; i + 1 < maps.size(); ++i) {
      net.register_before(fmt::format("{}{}", blocks, i),
                          fmt::format("{}{}", blocks, maps.size() - 1));
    }
  }
  levels.push_back(net.max_pool(name + "pool", levels.back(), {.kernel = square(1), .stride = 2}));
  return levels;
}

/// One head for all levels; its loss is of few anchors, whose gradient is zero for the others.
void propose(ModelBuilder& net, const std::vector<Activation>& levels) {
  std::vector<Activation> outputs;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto run = [&](const std::string& part, const Activation& x, const Convolution& shape) {
      if (i == 0) return net.conv("rpn.head." + part, x, shape);
      return net.tied_conv(fmt::format("rpn.head.{}.level{}", part, i), x, shape);
    };
    const Activation x = net.act(fmt::format("rpn.head.relu.level{}", i),
                                 run("conv", levels[i], conv3(pyramid_width)));
    outputs.push_back(ModelBuilder::flatten(run("cls_logits", x, conv1(anchors))));
    outputs.push_back(ModelBuilder::flatten(run("bbox_pred", x, conv1(anchors * box_coordinates))));
  }
  const Activation all = net.concat("rpn.cat", outputs);
  const double boxes = all.count() / (1 + box_coordinates);
  net.custom(operation("rpn.proposals", "other",
                       {.elements = proposal_elements * boxes, .kernels = proposal_kernels},
                       {.kernels = 0}),
             {}, {.channels = box_coordinates, .height = regions});
  net.custom(
      operation("rpn.loss", "other", {.elements = 0}, {.elements = all.count(), .kernels = 2}),
      {{all}}, {.channels = 1});
}

/// Each region's part of the level that fits its size, one below another.
Activation region_maps(ModelBuilder& net, const std::string& name,
                       const std::vector<Activation>& levels, std::int64_t number,
                       std::int64_t side) {
  const Activation output = {.channels = pyramid_width, .height = number * side, .width = side};
  const std::vector<Activation> used(levels.begin(), levels.end() - 1);
  double zeros = 0;
  for (const Activation& level : used) zeros += level.count();
  const double moved = (region_reads + 1) * output.count();
  const int kernels = static_cast<int>(used.size());
  return net.custom(operation(name, "pool", {.elements = moved, .kernels = kernels},
                              {.elements = moved + zeros, .kernels = 2 * kernels}),
                    used, output);
}

void box_head(ModelBuilder& net, const std::vector<Activation>& levels, std::int64_t classes) {
  const std::string name = "roi_heads.box_";
  Activation x = region_maps(net, name + "roi_pool", levels, regions, box_side);
  x.channels = pyramid_width * box_side * box_side;
  x.height = regions;
  x.width = 1;
  for (const char* part : {"fc6", "fc7"}) {
    x = net.linear(name + "head." + part, x, box_hidden);
    x = net.act(fmt::format("{}head.{}_relu", name, part), x);
  }
  const Activation scores = net.linear(name + "predictor.cls_score", x, classes);
  const Activation deltas = net.linear(name + "predictor.bbox_pred", x, box_coordinates * classes);
  net.loss("roi_heads.loss_classifier", scores);
  net.custom(operation("roi_heads.loss_box_reg", "other", {.elements = 0},
                       {.elements = deltas.count(), .kernels = 2}),
             {{deltas}}, {.channels = 1});
}

/// A transposed convolution of 2x2 and stride 2: a product of each place, and a bias.
Activation doubled(ModelBuilder& net, const std::string& name, const Activation& input) {
  const std::int64_t columns = 4 * pyramid_width;
  const Activation output = {
      .channels = pyramid_width, .height = 2 * input.height, .width = 2 * input.width};
  const double flops = 2 * input.count() * static_cast<double>(columns);
  const double moved = input.count() + output.count();
  ModelLayer layer = operation(
      name, "linear", {.flops = flops, .elements = moved + 2 * output.count(), .kernels = 2},
      {.flops = 2 * flops, .elements = 2 * moved + output.count(), .kernels = 3});
  layer.product =
      MatrixShape{.rows = input.height * input.width, .columns = columns, .depth = input.channels};
  layer.parameters = {
      {.name = name + ".weight", .shape = {input.channels, pyramid_width, 2, 2}, .ready = {}},
      {.name = name + ".bias", .shape = {pyramid_width}, .ready = {}}};
  return net.custom(std::move(layer), {{input}}, output);
}

/// The loss reads the map of each region's class; the others' gradient is zero.
void mask_head(ModelBuilder& net, const std::vector<Activation>& levels, std::int64_t classes) {
  const std::string name = "roi_heads.mask_";
  Activation x = region_maps(net, name + "roi_pool", levels, regions_with_object, mask_side);
  for (int i = 0; i < 4; ++i) {
    x = net.conv(fmt::format("{}head.{}", name, i), x, conv3(pyramid_width));
    x = net.act(fmt::format("{}head.relu{}", name, i), x);
  }
  x = doubled(net, name + "predictor.conv5_mask", x);
  x = net.act(name + "predictor.relu", x);
  x = net.conv(name + "predictor.mask_fcn_logits", x, conv1(classes));
  const double of_class = x.count() / static_cast<double>(classes);
  net.custom(operation("roi_heads.loss_mask", "other", {.elements = 3 * of_class, .kernels = 2},
                       {.elements = x.count() + 3 * of_class, .kernels = 3}),
             {{x}}, {.channels = 1});
}

}  // namespace

ModelDescription mask_rcnn(const ModelOptions& options) {
  ModelBuilder net("mask_rcnn",
                   "He et al., arXiv 1703.06870; torchvision models/detection/mask_rcnn.py, "
                   "ResNet-50-FPN, three stages trained");
  const std::int64_t classes = options.classes.value_or(coco_numbers);
  const auto levels = pyramid(net, body(net, options.image_size.value_or(coco_side)));
  propose(net, levels);
  box_head(net, levels, classes);
  mask_head(net, levels, classes);
  return net.finish();
}

}  // namespace gradwire
