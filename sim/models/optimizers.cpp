#include "sim/models/optimizers.hpp"

#include <algorithm>
#include <array>

namespace gradwire {

std::span<const OptimizerKind> optimizers() {
  // Counts of passes: a kernel that reads a and b and writes c moves 12 bytes a parameter in fp32.
  static constexpr std::array<OptimizerKind, 5> kinds = {{
      {"sgd", 24, "weight decay (reads w, g, writes g) and update (reads w, g, writes w), counted"},
      {"momentum", 35,
       "PyTorch SGD with momentum and weight decay: 1.109 ms for 25 557 032 parameters on a V100 "
       "at 806 GB/s (recorded profile of ResNet-50)"},
      {"adam", 102,
       "PyTorch foreach Adam: 0.845 ms for 25 557 032 parameters on an H100 at 3.08 TB/s, seven "
       "kernels (sarchlab/triosim, operator table of ResNet-50)"},
      {"adamw", 110, "adam, and a pass that decays the weights (reads w, writes w), counted"},
      {"lamb", 48,
       "apex FusedLAMB, counted: moments and update (28), their norms (8), step (12); assumed that "
       "nothing stays in cache"},
  }};
  return kinds;
}

const OptimizerKind* find_optimizer(std::string_view name) {
  const auto kinds = optimizers();
  const auto found = std::ranges::find(kinds, name, &OptimizerKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace gradwire
