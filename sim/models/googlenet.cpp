#include "sim/models/image_models.hpp"

#include "sim/models/builder.hpp"
#include "sim/models/conv_blocks.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire {
namespace {

/// Table 1 of the paper: channels of each branch, with the reductions before.
struct BranchWidths {
  std::int64_t conv1 = 0;
  std::int64_t reduce3 = 0;
  std::int64_t conv3 = 0;
  std::int64_t reduce5 = 0;
  std::int64_t conv5 = 0;
  std::int64_t pool = 0;
};

Activation inception(ModelBuilder& net, const std::string& name, const Activation& input,
                     const BranchWidths& widths) {
  const Activation ones = conv_norm(net, name + ".branch1", input, conv1x1(widths.conv1));
  const Activation threes = conv_sequence(net, name + ".branch2", input,
                                          {{conv1x1(widths.reduce3), conv3x3(widths.conv3)}});
  const Activation fives = conv_sequence(net, name + ".branch3", input,
                                         {{conv1x1(widths.reduce5), conv3x3(widths.conv5)}});
  Activation pooled = net.max_pool(name + ".branch4.0", input, pool3x3);
  pooled = conv_norm(net, name + ".branch4.1", pooled, conv1x1(widths.pool));
  return net.concat(name + ".cat", {{ones, threes, fives, pooled}});
}

void auxiliary(ModelBuilder& net, const std::string& name, const Activation& input,
               std::int64_t classes) {
  Activation x = net.adaptive_pool(name + ".pool", input, 4);
  x = ModelBuilder::flatten(conv_norm(net, name + ".conv", x, conv1x1(128)));
  x = net.act(name + ".relu", net.linear(name + ".fc1", x, 1024));
  net.linear(name + ".fc2", net.dropout(name + ".dropout", x), classes);
}

}  // namespace

const std::vector<std::string>& auxiliary_heads() {
  static const std::vector<std::string> heads = {"main", "aux"};
  return heads;
}

ModelDescription googlenet(const ModelOptions& options) {
  constexpr Pooling halving = {.kernel = square(3), .stride = 2, .ceil = true};
  const std::int64_t classes = options.classes.value_or(imagenet_classes);
  const bool aux = options.head.value_or(auxiliary_heads().front()) == "aux";
  ModelBuilder net("googlenet", "Szegedy et al., arXiv 1409.4842; torchvision models/googlenet.py");
  Activation x = net.image(3, options.image_size.value_or(imagenet_side));
  x = conv_norm(net, "conv1", x,
                {.out = 64, .kernel = square(7), .stride = 2, .padding = square(3)});
  x = net.max_pool("maxpool1", x, halving);
  x = conv_norm(net, "conv2", x, conv1x1(64));
  x = conv_norm(net, "conv3", x, conv3x3(192));
  x = net.max_pool("maxpool2", x, halving);
  x = inception(net, "inception3a", x, {64, 96, 128, 16, 32, 32});
  x = inception(net, "inception3b", x, {128, 128, 192, 32, 96, 64});
  x = net.max_pool("maxpool3", x, halving);
  x = inception(net, "inception4a", x, {192, 96, 208, 16, 48, 64});
  if (aux) auxiliary(net, "aux1", x, classes);
  x = inception(net, "inception4b", x, {160, 112, 224, 24, 64, 64});
  x = inception(net, "inception4c", x, {128, 128, 256, 24, 64, 64});
  x = inception(net, "inception4d", x, {112, 144, 288, 32, 64, 64});
  if (aux) auxiliary(net, "aux2", x, classes);
  x = inception(net, "inception4e", x, {256, 160, 320, 32, 128, 128});
  x = net.max_pool("maxpool4", x, {.kernel = square(2), .stride = 2, .ceil = true});
  x = inception(net, "inception5a", x, {256, 160, 320, 32, 128, 128});
  x = inception(net, "inception5b", x, {384, 192, 384, 48, 128, 128});
  x = net.dropout("dropout", ModelBuilder::flatten(net.adaptive_pool("avgpool", x, 1)));
  net.linear("fc", x, classes);
  net.register_before("aux", "fc.");
  return net.finish();
}

}  // namespace gradwire
