#include "sim/models/image_models.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

// The blocks are named as timm names their classes; the paper's figures in brackets.

Activation pool_branch(ModelBuilder& net, const std::string& name, const Activation& input,
                       std::int64_t out) {
  const Activation x = net.average_pool(name + ".0", input, pool3x3);
  return conv_norm(net, name + ".1", x, conv1x1(out));
}

/// Stem (figure 3), 299 x 299 to 35 x 35: features.0 to features.5.
Activation stem(ModelBuilder& net, Activation x) {
  constexpr Convolution shrinking = {.out = 96, .kernel = square(3)};
  x = conv_norm(net, "features.0", x, conv3x3_half(32));
  x = conv_norm(net, "features.1", x, {.out = 32, .kernel = square(3)});
  x = conv_norm(net, "features.2", x, conv3x3(64));
  const Activation pooled3 = net.max_pool("features.3.maxpool", x, pool3x3_half);
  x = net.concat("features.3.cat",
                 {{pooled3, conv_norm(net, "features.3.conv", x, conv3x3_half(96))}});
  const Activation threes = conv_sequence(net, "features.4.branch0", x, {{conv1x1(64), shrinking}});
  const Activation sevens = conv_sequence(net, "features.4.branch1", x,
                                          {{conv1x1(64), row(64, 7), column(64, 7), shrinking}});
  x = net.concat("features.4.cat", {{threes, sevens}});
  const Activation halved = conv_norm(net, "features.5.conv", x, conv3x3_half(192));
  const Activation pooled5 = net.max_pool("features.5.maxpool", x, pool3x3_half);
  return net.concat("features.5.cat", {{halved, pooled5}});
}

/// 35 x 35 (figure 4).
Activation block_a(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation ones = conv_norm(net, name + ".branch0", input, conv1x1(96));
  const Activation threes =
      conv_sequence(net, name + ".branch1", input, {{conv1x1(64), conv3x3(96)}});
  const Activation doubles =
      conv_sequence(net, name + ".branch2", input, {{conv1x1(64), conv3x3(96), conv3x3(96)}});
  const Activation pooled = pool_branch(net, name + ".branch3", input, 96);
  return net.concat(name + ".cat", {{ones, threes, doubles, pooled}});
}

/// 35 x 35 to 17 x 17 (figure 7).
Activation reduction_a(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation halved = conv_norm(net, name + ".branch0", input, conv3x3_half(384));
  const Activation doubles = conv_sequence(net, name + ".branch1", input,
                                           {{conv1x1(192), conv3x3(224), conv3x3_half(256)}});
  const Activation pooled = net.max_pool(name + ".branch2", input, pool3x3_half);
  return net.concat(name + ".cat", {{halved, doubles, pooled}});
}

/// 17 x 17 (figure 5).
Activation block_b(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation ones = conv_norm(net, name + ".branch0", input, conv1x1(384));
  const Activation sevens =
      conv_sequence(net, name + ".branch1", input, {{conv1x1(192), row(224, 7), column(256, 7)}});
  const Activation doubles =
      conv_sequence(net, name + ".branch2", input,
                    {{conv1x1(192), column(192, 7), row(224, 7), column(224, 7), row(256, 7)}});
  const Activation pooled = pool_branch(net, name + ".branch3", input, 128);
  return net.concat(name + ".cat", {{ones, sevens, doubles, pooled}});
}

/// 17 x 17 to 8 x 8 (figure 8).
Activation reduction_b(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation threes =
      conv_sequence(net, name + ".branch0", input, {{conv1x1(192), conv3x3_half(192)}});
  const Activation sevens =
      conv_sequence(net, name + ".branch1", input,
                    {{conv1x1(256), row(256, 7), column(320, 7), conv3x3_half(320)}});
  const Activation pooled = net.max_pool(name + ".branch2", input, pool3x3_half);
  return net.concat(name + ".cat", {{threes, sevens, pooled}});
}

/// The end of two branches of block_c: a row and a column beside each other.
Activation fork(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation rows = conv_norm(net, name + "a", input, row(256, 3));
  const Activation columns = conv_norm(net, name + "b", input, column(256, 3));
  return net.concat(name + ".cat", {{rows, columns}});
}

/// 8 x 8 (figure 6).
Activation block_c(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation ones = conv_norm(net, name + ".branch0", input, conv1x1(256));
  Activation threes = conv_norm(net, name + ".branch1_0", input, conv1x1(384));
  threes = fork(net, name + ".branch1_1", threes);
  Activation doubles = conv_norms(net, input,
                                  {{name + ".branch2_0", conv1x1(384)},
                                   {name + ".branch2_1", column(448, 3)},
                                   {name + ".branch2_2", row(512, 3)}});
  doubles = fork(net, name + ".branch2_3", doubles);
  const Activation pooled = pool_branch(net, name + ".branch3", input, 256);
  return net.concat(name + ".cat", {{ones, threes, doubles, pooled}});
}

}  // namespace

ModelDescription inception_v4(const ModelOptions& options) {
  ModelBuilder net("inception_v4", "Szegedy et al., arXiv 1602.07261; timm models/inception_v4.py");
  Activation x = stem(net, net.image(3, options.image_size.value_or(inception_side)));
  int position = 6;
  const auto next = [&position] { return fmt::format("features.{}", position++); };
  for (int block = 0; block < 4; ++block) x = block_a(net, next(), x);
  x = reduction_a(net, next(), x);
  for (int block = 0; block < 7; ++block) x = block_b(net, next(), x);
  x = reduction_b(net, next(), x);
  for (int block = 0; block < 3; ++block) x = block_c(net, next(), x);
  x = ModelBuilder::flatten(net.adaptive_pool("global_pool", x, 1));
  net.linear("last_linear", x, options.classes.value_or(imagenet_classes));
  return net.finish();
}

}  // namespace gradwire
