#pragma once

#include <string>
#include <vector>

#include "sim/core/placement.hpp"

namespace gradwire {

/// Which rank lives where ("ranks 0-7: node0.gpu0-7"), and the rings' orders of ranks; long lists
/// are folded. @param rings  of each channel; may be empty.
[[nodiscard]] std::string placement_text(const Placement& placement,
                                         const std::vector<std::vector<int>>& rings);

}  // namespace gradwire
