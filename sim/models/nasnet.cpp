#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

constexpr int nasnet_stages = 3;
constexpr int cells_of_large = 6;  // whose numbers the smaller network's cells have, too

struct NasnetShape {
  std::string name;
  std::int64_t stem = 0;     ///< channels of the first convolution
  std::int64_t filters = 0;  ///< of the first stage's cells; each further one has twice that
  int cells = 0;             ///< of a stage
  int side = 0;
};

/// Twice: ReLU, a convolution by channel, one across channels, norm.
Activation separable(ModelBuilder& net, const std::string& name, const Activation& input,
                     std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
  Activation x = input;
  for (const int i : {1, 2}) {
    const std::string part = fmt::format("{}.separable_{}", name, i);
    x = net.act(fmt::format("{}.relu{}", name, i), x);
    x = net.conv(part + ".depthwise_conv2d", x,
                 {.out = x.channels,
                  .kernel = square(kernel),
                  .stride = i == 1 ? stride : 1,
                  .padding = square(kernel / 2),
                  .groups = x.channels});
    x = net.conv(part + ".pointwise_conv2d", x, {.out = out, .kernel = square(1)});
    x = net.batch_norm(fmt::format("{}.bn_sep_{}", name, i), x);
  }
  return x;
}

Activation squeezed(ModelBuilder& net, const std::string& name, const Activation& input,
                    std::int64_t out) {
  const Activation x = net.act(name + ".relu", input);
  return net.batch_norm(name + ".bn",
                        net.conv(name + ".conv", x, {.out = out, .kernel = square(1)}));
}

/// Half as many places: every second one, and those between them, with half the channels each.
Activation halved(ModelBuilder& net, const std::string& name, const Activation& input,
                  std::int64_t out) {
  const Activation x = net.act(name + ".relu", input);
  const auto path = [&](const std::string& part, const Activation& y) {
    const Activation every_second =
        net.average_pool(part + ".avgpool", y, {.kernel = square(1), .stride = 2});
    return net.conv(part + ".conv", every_second, {.out = out / 2, .kernel = square(1)});
  };
  const Activation at = path(name + ".path_1", x);
  const Activation between = path(name + ".path_2", net.copy(name + ".path_2.pad", x));
  return net.batch_norm(name + ".final_path_bn", net.concat(name + ".path_cat", {{at, between}}));
}

constexpr Pooling window3(std::int64_t stride) {
  return {.kernel = square(3), .stride = stride, .padding = square(1)};
}

/// Figure 4, left: what the cell before made (`near`) and the one before that (`far`).
Activation normal(ModelBuilder& net, const std::string& name, const Activation& near,
                  const Activation& far) {
  const std::int64_t out = near.channels;
  const auto comb = [&](const char* part) { return name + ".comb_iter_" + part; };
  Activation left = separable(net, comb("0_left"), near, out, 5);
  Activation right = separable(net, comb("0_right"), far, out, 3);
  const Activation sum0 = net.add(comb("0"), left, right);
  left = separable(net, comb("1_left"), far, out, 5);
  right = separable(net, comb("1_right"), far, out, 3);
  const Activation sum1 = net.add(comb("1"), left, right);
  const Activation sum2 =
      net.add(comb("2"), net.average_pool(comb("2_left"), near, window3(1)), far);
  left = net.average_pool(comb("3_left"), far, window3(1));
  right = net.average_pool(comb("3_right"), far, window3(1));
  const Activation sum3 = net.add(comb("3"), left, right);
  const Activation sum4 = net.add(comb("4"), separable(net, comb("4_left"), near, out, 3), near);
  return net.concat(name + ".cat", {{far, sum0, sum1, sum2, sum3, sum4}});
}

/// Figure 4, right.
Activation reduction(ModelBuilder& net, const std::string& name, const Activation& near,
                     const Activation& far) {
  const std::int64_t out = near.channels;
  const auto comb = [&](const char* part) { return name + ".comb_iter_" + part; };
  Activation left = separable(net, comb("0_left"), near, out, 5, 2);
  Activation right = separable(net, comb("0_right"), far, out, 7, 2);
  const Activation sum0 = net.add(comb("0"), left, right);
  left = net.max_pool(comb("1_left"), near, window3(2));
  right = separable(net, comb("1_right"), far, out, 7, 2);
  const Activation sum1 = net.add(comb("1"), left, right);
  left = net.average_pool(comb("2_left"), near, window3(2));
  right = separable(net, comb("2_right"), far, out, 5, 2);
  const Activation sum2 = net.add(comb("2"), left, right);
  const Activation sum3 =
      net.add(comb("3"), net.average_pool(comb("3_right"), sum0, window3(1)), sum1);
  left = separable(net, comb("4_left"), sum0, out, 3);
  right = net.max_pool(comb("4_right"), near, window3(2));
  const Activation sum4 = net.add(comb("4"), left, right);
  return net.concat(name + ".cat", {{sum1, sum2, sum3, sum4}});
}

/// The results of the last two cells.
struct LastTwo {
  Activation far;
  Activation near;
};

LastTwo nasnet_stem(ModelBuilder& net, const NasnetShape& shape, const Activation& image) {
  Activation x =
      net.conv("conv0.conv", image, {.out = shape.stem, .kernel = square(3), .stride = 2});
  x = net.batch_norm("conv0.bn", x);
  const Activation first =
      reduction(net, "cell_stem_0", squeezed(net, "cell_stem_0.conv_1x1", x, shape.filters / 4), x);
  const Activation near = squeezed(net, "cell_stem_1.conv_1x1", first, shape.filters / 2);
  const Activation far = halved(net, "cell_stem_1", x, shape.filters / 2);
  return {.far = first, .near = reduction(net, "cell_stem_1", near, far)};
}

/// @param past  of which the farther has twice as many places a side.
LastTwo stage(ModelBuilder& net, int number, LastTwo past, std::int64_t filters,
              const NasnetShape& shape) {
  for (int cell = 0; cell < shape.cells; ++cell) {
    const std::string name = fmt::format("cell_{}", number * cells_of_large + cell);
    const Activation far = cell == 0 ? halved(net, name, past.far, filters)
                                     : squeezed(net, name + ".conv_prev_1x1", past.far, filters);
    const Activation near = squeezed(net, name + ".conv_1x1", past.near, filters);
    if (cell == 0) net.register_before(name + ".conv_1x1", name + ".path_1");
    past = {.far = past.near, .near = normal(net, name, near, far)};
  }
  return past;
}

ModelDescription nasnet(const NasnetShape& shape, const ModelOptions& options) {
  ModelBuilder net(shape.name,
                   "Zoph et al., arXiv 1707.07012; Cadene's pretrained-models.pytorch nasnet.py");
  LastTwo past = nasnet_stem(net, shape, net.image(3, options.image_size.value_or(shape.side)));
  std::int64_t filters = shape.filters;
  for (int number = 0; number < nasnet_stages; ++number) {
    if (number > 0) {
      const std::string name = fmt::format("reduction_cell_{}", number - 1);
      filters *= 2;
      const Activation far = squeezed(net, name + ".conv_prev_1x1", past.far, filters);
      const Activation near = squeezed(net, name + ".conv_1x1", past.near, filters);
      past.near = reduction(net, name, near, far);
    }
    past = stage(net, number, past, filters, shape);
  }
  Activation x = net.adaptive_pool("avg_pool", net.act("relu", past.near), 1);
  x = net.dropout("dropout", ModelBuilder::flatten(x));
  net.loss("loss", net.linear("last_linear", x, options.classes.value_or(imagenet_classes)));
  return net.finish();
}

}  // namespace

ModelDescription nasnet_a_large(const ModelOptions& options) {
  return nasnet({.name = "nasnet_a_large",
                 .stem = 96,
                 .filters = 168,
                 .cells = cells_of_large,
                 .side = nasnet_large_side},
                options);
}

ModelDescription nasnet_a_mobile(const ModelOptions& options) {
  return nasnet(
      {.name = "nasnet_a_mobile", .stem = 32, .filters = 44, .cells = 4, .side = imagenet_side},
      options);
}

}  // namespace gradwire
