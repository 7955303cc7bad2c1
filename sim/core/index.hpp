#pragma once

#include <cstddef>

namespace gradwire {

/// An index into a container, of a GPU, machine or link that is counted as an int.
/// REQUIRES: index >= 0.
[[nodiscard]] constexpr std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace gradwire
