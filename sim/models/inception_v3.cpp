#include "sim/models/image_models.hpp"

#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

// The blocks are named as torchvision names their classes; the paper's figures in brackets.

Activation pool_branch(ModelBuilder& net, const std::string& name, const Activation& input,
                       std::int64_t out) {
  const Activation x = net.average_pool(name + ".avg_pool", input, pool3x3);
  return conv_norm(net, name + ".branch_pool", x, conv1x1(out));
}

/// 35 x 35 (figure 5).
Activation block_a(ModelBuilder& net, const std::string& name, const Activation& input,
                   std::int64_t pool_features) {
  constexpr Convolution conv5x5 = {.out = 64, .kernel = square(5), .padding = square(2)};
  const Activation ones = conv_norm(net, name + ".branch1x1", input, conv1x1(64));
  const Activation fives = conv_norms(
      net, input, {{name + ".branch5x5_1", conv1x1(48)}, {name + ".branch5x5_2", conv5x5}});
  const Activation threes = conv_norms(net, input,
                                       {{name + ".branch3x3dbl_1", conv1x1(64)},
                                        {name + ".branch3x3dbl_2", conv3x3(96)},
                                        {name + ".branch3x3dbl_3", conv3x3(96)}});
  const Activation pooled = pool_branch(net, name, input, pool_features);
  return net.concat(name + ".cat", {{ones, fives, threes, pooled}});
}

/// 35 x 35 to 17 x 17.
Activation block_b(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation threes = conv_norm(net, name + ".branch3x3", input, conv3x3_half(384));
  const Activation doubles = conv_norms(net, input,
                                        {{name + ".branch3x3dbl_1", conv1x1(64)},
                                         {name + ".branch3x3dbl_2", conv3x3(96)},
                                         {name + ".branch3x3dbl_3", conv3x3_half(96)}});
  const Activation pooled = net.max_pool(name + ".max_pool", input, pool3x3_half);
  return net.concat(name + ".cat", {{threes, doubles, pooled}});
}

/// 17 x 17 (figure 6, n = 7). @param inner  channels between the factors.
Activation block_c(ModelBuilder& net, const std::string& name, const Activation& input,
                   std::int64_t inner) {
  const Activation ones = conv_norm(net, name + ".branch1x1", input, conv1x1(192));
  const Activation sevens = conv_norms(net, input,
                                       {{name + ".branch7x7_1", conv1x1(inner)},
                                        {name + ".branch7x7_2", row(inner, 7)},
                                        {name + ".branch7x7_3", column(192, 7)}});
  const Activation doubles = conv_norms(net, input,
                                        {{name + ".branch7x7dbl_1", conv1x1(inner)},
                                         {name + ".branch7x7dbl_2", column(inner, 7)},
                                         {name + ".branch7x7dbl_3", row(inner, 7)},
                                         {name + ".branch7x7dbl_4", column(inner, 7)},
                                         {name + ".branch7x7dbl_5", row(192, 7)}});
  const Activation pooled = pool_branch(net, name, input, 192);
  return net.concat(name + ".cat", {{ones, sevens, doubles, pooled}});
}

/// 17 x 17 to 8 x 8.
Activation block_d(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation threes = conv_norms(
      net, input,
      {{name + ".branch3x3_1", conv1x1(192)}, {name + ".branch3x3_2", conv3x3_half(320)}});
  const Activation sevens = conv_norms(net, input,
                                       {{name + ".branch7x7x3_1", conv1x1(192)},
                                        {name + ".branch7x7x3_2", row(192, 7)},
                                        {name + ".branch7x7x3_3", column(192, 7)},
                                        {name + ".branch7x7x3_4", conv3x3_half(192)}});
  const Activation pooled = net.max_pool(name + ".max_pool", input, pool3x3_half);
  return net.concat(name + ".cat", {{threes, sevens, pooled}});
}

/// The end of two branches of block_e: a row and a column beside each other.
Activation fork(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation rows = conv_norm(net, name + "a", input, row(384, 3));
  const Activation columns = conv_norm(net, name + "b", input, column(384, 3));
  return net.concat(name + ".cat", {{rows, columns}});
}

/// 8 x 8 (figure 7).
Activation block_e(ModelBuilder& net, const std::string& name, const Activation& input) {
  const Activation ones = conv_norm(net, name + ".branch1x1", input, conv1x1(320));
  Activation threes = conv_norm(net, name + ".branch3x3_1", input, conv1x1(384));
  threes = fork(net, name + ".branch3x3_2", threes);
  Activation doubles = conv_norms(
      net, input,
      {{name + ".branch3x3dbl_1", conv1x1(448)}, {name + ".branch3x3dbl_2", conv3x3(384)}});
  doubles = fork(net, name + ".branch3x3dbl_3", doubles);
  const Activation pooled = pool_branch(net, name, input, 192);
  return net.concat(name + ".cat", {{ones, threes, doubles, pooled}});
}

void auxiliary(ModelBuilder& net, const Activation& input, std::int64_t classes) {
  Activation x = net.average_pool("AuxLogits.avg_pool", input, {.kernel = square(5), .stride = 3});
  x = conv_norm(net, "AuxLogits.conv0", x, conv1x1(128));
  x = conv_norm(net, "AuxLogits.conv1", x, {.out = 768, .kernel = square(5)});
  x = ModelBuilder::flatten(net.adaptive_pool("AuxLogits.pool", x, 1));
  net.linear("AuxLogits.fc", x, classes);
}

}  // namespace

ModelDescription inception_v3(const ModelOptions& options) {
  const std::int64_t classes = options.classes.value_or(imagenet_classes);
  ModelBuilder net("inception_v3",
                   "Szegedy et al., arXiv 1512.00567; torchvision models/inception.py");
  Activation x = net.image(3, options.image_size.value_or(inception_side));
  x = conv_norm(net, "Conv2d_1a_3x3", x, conv3x3_half(32));
  x = conv_norm(net, "Conv2d_2a_3x3", x, {.out = 32, .kernel = square(3)});
  x = conv_norm(net, "Conv2d_2b_3x3", x, conv3x3(64));
  x = net.max_pool("maxpool1", x, pool3x3_half);
  x = conv_norm(net, "Conv2d_3b_1x1", x, conv1x1(80));
  x = conv_norm(net, "Conv2d_4a_3x3", x, {.out = 192, .kernel = square(3)});
  x = net.max_pool("maxpool2", x, pool3x3_half);
  x = block_a(net, "Mixed_5b", x, 32);
  x = block_a(net, "Mixed_5c", x, 64);
  x = block_a(net, "Mixed_5d", x, 64);
  x = block_b(net, "Mixed_6a", x);
  x = block_c(net, "Mixed_6b", x, 128);
  x = block_c(net, "Mixed_6c", x, 160);
  x = block_c(net, "Mixed_6d", x, 160);
  x = block_c(net, "Mixed_6e", x, 192);
  if (options.head.value_or(auxiliary_heads().front()) == "aux") auxiliary(net, x, classes);
  x = block_d(net, "Mixed_7a", x);
  x = block_e(net, "Mixed_7b", x);
  x = block_e(net, "Mixed_7c", x);
  x = net.dropout("dropout", ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1)));
  net.linear("fc", x, classes);
  return net.finish();
}

}  // namespace gradwire
