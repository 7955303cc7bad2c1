#pragma once

#include <string>
#include <vector>

namespace gradwire::config {

/// A variable that an original system, or a library under it, reads, and that changes no predicted
/// time.
struct IdleVariable {
  std::string name;    ///< "NCCL_DEBUG"
  std::string why;     ///< "it prints"
  std::string source;  ///< where it is read or described
};

/// All that are known, by system.
[[nodiscard]] const std::vector<IdleVariable>& idle_variables();

}  // namespace gradwire::config
