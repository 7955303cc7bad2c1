#pragma once

#include <span>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// An operator without tensors of kind `kind` that gives what its first input is shaped like. The
/// work's elements are counted for each of those N elements.
[[nodiscard]] Activation elementwise(ModelBuilder& net, const std::string& name,
                                     const std::string& kind, std::span<const Activation> inputs,
                                     const LayerWork& forward, const LayerWork& backward);

/// SiLU or GELU, not in place: 2 N and 3 N. Backward needs the input.
[[nodiscard]] Activation smooth(ModelBuilder& net, const std::string& name,
                                const Activation& input);

}  // namespace gradwire
