#include "sim/models/conv_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gradwire {

Activation frozen_norm(ModelBuilder& net, const std::string& name, const Activation& input) {
  const auto n = static_cast<double>(input.elements());
  ModelLayer layer;
  layer.name = name;
  layer.kind = "other";
  layer.forward = {.elements = 4 * n, .kernels = 7};
  layer.backward = {.elements = 2 * n};
  net.add_statistics(4, 4 * input.channels);
  return net.custom(std::move(layer), {{input}}, input);
}

Activation squeeze_excite(ModelBuilder& net, const std::string& name, const Activation& input,
                          const SqueezeShape& shape) {
  const auto layer = [&](const std::string& part, const Activation& x, std::int64_t out) {
    const std::string path = name + "." + part;
    return shape.linear ? net.linear(path, x, out)
                        : net.conv(path, x, {.out = out, .kernel = square(1), .bias = true});
  };
  Activation x = net.adaptive_pool(name + ".avgpool", input, 1);
  x = layer(shape.names[0], x, shape.squeezed);
  x = shape.smooth ? net.smooth_act(name + ".act", x) : net.act(name + ".act", x);
  x = net.act(name + ".sigmoid", layer(shape.names[1], x, input.channels));
  ModelLayer product;
  product.name = name + ".scale";
  product.kind = "other";
  const auto n = static_cast<double>(input.elements());
  product.forward = {.elements = 2 * n};
  product.backward = {.elements = 6 * n, .kernels = 3};
  return net.custom(std::move(product), {{input, x}}, input);
}

Activation basic_branch(ModelBuilder& net, const std::string& name, const Activation& input,
                        std::int64_t out, std::int64_t stride) {
  Activation x =
      net.conv(name + ".conv1", input,
               {.out = out, .kernel = square(3), .stride = stride, .padding = square(1)});
  x = net.act(name + ".relu1", net.batch_norm(name + ".bn1", x));
  x = net.conv(name + ".conv2", x, {.out = out, .kernel = square(3), .padding = square(1)});
  return net.batch_norm(name + ".bn2", x);
}

namespace {

constexpr std::int64_t bottleneck_expansion = 4;
constexpr std::int64_t squeeze_reduction = 16;  // Hu et al., section 6.3

Activation norm(ModelBuilder& net, const std::string& name, const Activation& x,
                const ResidualShape& shape) {
  return shape.frozen_norms ? frozen_norm(net, name, x) : net.batch_norm(name, x);
}

Activation bottleneck(ModelBuilder& net, const std::string& name, const Activation& input,
                      std::int64_t planes, std::int64_t stride, const ResidualShape& shape) {
  const std::int64_t width = planes * shape.width_per_group / 64 * shape.groups;
  Activation x = net.conv(name + ".conv1", input, {.out = width, .kernel = square(1)});
  x = net.act(name + ".relu1", norm(net, name + ".bn1", x, shape));
  x = net.conv(name + ".conv2", x,
               {.out = width,
                .kernel = square(3),
                .stride = stride,
                .padding = square(1),
                .groups = shape.groups});
  x = net.act(name + ".relu2", norm(net, name + ".bn2", x, shape));
  x = net.conv(name + ".conv3", x, {.out = planes * bottleneck_expansion, .kernel = square(1)});
  return norm(net, name + ".bn3", x, shape);
}

Activation block(ModelBuilder& net, const std::string& name, const Activation& input,
                 std::int64_t planes, std::int64_t stride, const ResidualShape& shape) {
  Activation x = shape.basic ? basic_branch(net, name, input, planes, stride)
                             : bottleneck(net, name, input, planes, stride, shape);
  Activation shortcut = input;
  if (stride > 1 || input.channels != x.channels) {
    shortcut = net.conv(fmt::format("{}.{}.0", name, shape.shortcut), input,
                        {.out = x.channels, .kernel = square(1), .stride = stride});
    shortcut = norm(net, fmt::format("{}.{}.1", name, shape.shortcut), shortcut, shape);
  }
  if (shape.squeezed) {
    x = squeeze_excite(net, name + ".squeeze", x,
                       {.squeezed = x.channels / squeeze_reduction,
                        .names = {"squeeze", "expand"},
                        .linear = true});
  }
  return net.act(name + (shape.basic ? ".relu2" : ".relu3"), net.add(name + ".add", x, shortcut));
}

}  // namespace

Activation residual_stem(ModelBuilder& net, const std::array<std::string, 2>& names,
                         const Activation& image, const ResidualShape& shape) {
  Activation x = net.conv(names[0], image,
                          {.out = 64, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.act("relu", norm(net, names[1], x, shape));
  return net.max_pool("maxpool", x, {.kernel = square(3), .stride = 2, .padding = square(1)});
}

Activation residual_stage(ModelBuilder& net, const std::string& name, const Activation& input,
                          const ResidualStage& stage, const ResidualShape& shape) {
  Activation x = input;
  for (int b = 0; b < stage.blocks; ++b) {
    x = block(net, fmt::format("{}.{}", name, b), x, stage.planes, b == 0 ? stage.stride : 1,
              shape);
  }
  return x;
}

namespace {

/// Everything before the narrowing convolution.
Activation widened(ModelBuilder& net, const std::string& name, const Activation& input,
                   const InvertedShape& shape, int& position) {
  const auto next = [&] { return fmt::format("{}.{}", name, position++); };
  Activation x = input;
  if (shape.fused) {
    return conv_norm_act(net, next(), x,
                         {.out = shape.expanded,
                          .kernel = shape.kernel,
                          .stride = shape.stride,
                          .smooth = shape.smooth});
  }
  if (shape.expanded != input.channels) {
    x = conv_norm_act(net, next(), x, {.out = shape.expanded, .smooth = shape.smooth});
  }
  x = conv_norm_act(net, next(), x,
                    {.out = shape.expanded,
                     .kernel = shape.kernel,
                     .stride = shape.stride,
                     .groups = shape.expanded,
                     .smooth = shape.smooth});
  if (shape.squeezed > 0) {
    x = squeeze_excite(
        net, next(), x,
        {.squeezed = shape.squeezed, .names = {"fc1", "fc2"}, .smooth = shape.squeeze_smooth});
  }
  return x;
}

}  // namespace

Activation conv_norm_act(ModelBuilder& net, const std::string& name, const Activation& input,
                         const NormedConvolution& shape) {
  Activation x = net.conv(name + ".0", input,
                          {.out = shape.out,
                           .kernel = square(shape.kernel),
                           .stride = shape.stride,
                           .padding = square(shape.kernel / 2),
                           .groups = shape.groups});
  x = net.batch_norm(name + ".1", x);
  return shape.smooth ? net.smooth_act(name + ".2", x) : net.act(name + ".2", x);
}

Activation inverted_residual(ModelBuilder& net, const std::string& name, const Activation& input,
                             const InvertedShape& shape) {
  int position = 0;
  Activation x = widened(net, name, input, shape, position);
  if (!shape.fused || shape.expanded != input.channels) {
    const std::string conv = shape.bare_projection ? fmt::format("{}.{}", name, position)
                                                   : fmt::format("{}.{}.0", name, position);
    const std::string norm = shape.bare_projection ? fmt::format("{}.{}", name, position + 1)
                                                   : fmt::format("{}.{}.1", name, position);
    x = net.batch_norm(norm, net.conv(conv, x, {.out = shape.out, .kernel = square(1)}));
  }
  if (shape.stride > 1 || shape.out != input.channels) return x;
  if (shape.drops) x = net.stochastic_depth(name + ".stochastic_depth", x);
  return net.add(name + ".add", x, input);
}

std::int64_t divisible(double channels) {
  constexpr std::int64_t divisor = 8;
  const auto nearest = static_cast<std::int64_t>(channels + divisor / 2.0) / divisor * divisor;
  const std::int64_t rounded = std::max(divisor, nearest);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + divisor : rounded;
}

Activation conv_norm(ModelBuilder& net, const std::string& name, const Activation& input,
                     const Convolution& shape) {
  const Activation x = net.conv(name + ".conv", input, shape);
  return net.act(name + ".relu", net.batch_norm(name + ".bn", x));
}

Activation conv_norms(ModelBuilder& net, Activation x,
                      const std::vector<std::pair<std::string, Convolution>>& convolutions) {
  for (const auto& [name, shape] : convolutions) x = conv_norm(net, name, x, shape);
  return x;
}

Activation conv_sequence(ModelBuilder& net, const std::string& name, Activation x,
                         std::span<const Convolution> convolutions, int first) {
  for (const Convolution& shape : convolutions) {
    x = conv_norm(net, fmt::format("{}.{}", name, first++), x, shape);
  }
  return x;
}

}  // namespace gradwire
