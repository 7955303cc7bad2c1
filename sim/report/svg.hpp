#pragma once

#include <string>

namespace gradwire {

/// The opening tag and a white background; the picture ends with "</svg>\n". Pixels.
[[nodiscard]] std::string svg_open(double width, double height);

/// The distance of an axis's marks: 1, 2 or 5 times a power of ten, 8 to 20 of them.
/// REQUIRES: length > 0.
[[nodiscard]] double axis_tick(double length);

}  // namespace gradwire
