#include "sim/models/residual_block.hpp"

namespace gradwire {

Activation basic_branch(ModelBuilder& net, const std::string& name, const Activation& input,
                        std::int64_t out, std::int64_t stride) {
  Activation x =
      net.conv(name + ".conv1", input,
               {.out = out, .kernel = square(3), .stride = stride, .padding = square(1)});
  x = net.act(name + ".relu1", net.batch_norm(name + ".bn1", x));
  x = net.conv(name + ".conv2", x, {.out = out, .kernel = square(3), .padding = square(1)});
  return net.batch_norm(name + ".bn2", x);
}

}  // namespace gradwire
