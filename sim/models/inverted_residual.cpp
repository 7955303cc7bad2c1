#include "sim/models/inverted_residual.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/models/squeeze_excite.hpp"

namespace gradwire {
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

}  // namespace gradwire
