#include "sim/core/readable_bytes.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/core/outgoing_text.hpp"

namespace gradwire {

std::string readable_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return plain_format("{:.{}f} {}", bytes, unit == 0 ? 0 : 2, units[unit]);
}

}  // namespace gradwire
