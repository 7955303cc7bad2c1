#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// The branch of ResNet's basic block (He et al., arXiv 1512.03385, figure 5 left): two 3x3
/// convolutions to `out` channels, the first with `stride`, each with its norm and a ReLU between,
/// called NAME.conv1, .bn1, .relu1, .conv2, .bn2. The shortcut is the caller's.
[[nodiscard]] Activation basic_branch(ModelBuilder& net, const std::string& name,
                                      const Activation& input, std::int64_t out,
                                      std::int64_t stride);

}  // namespace gradwire
