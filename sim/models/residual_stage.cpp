#include "sim/models/residual_stage.hpp"

#include <fmt/format.h>

#include "sim/models/frozen_norm.hpp"
#include "sim/models/residual_block.hpp"
#include "sim/models/squeeze_excite.hpp"

namespace gradwire {
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
    shortcut = net.conv(name + ".downsample.0", input,
                        {.out = x.channels, .kernel = square(1), .stride = stride});
    shortcut = norm(net, name + ".downsample.1", shortcut, shape);
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

}  // namespace gradwire
