#pragma once

#include <functional>
#include <string>

namespace gradwire {

/// The opening tag and a white background; the picture ends with "</svg>\n". Pixels.
[[nodiscard]] std::string svg_open(double width, double height);

/// The distance of an axis's marks: 1, 2 or 5 times a power of ten, 8 to 20 of them.
/// REQUIRES: length > 0.
[[nodiscard]] double axis_tick(double length);

/// Pixels of a value on an axis.
using AxisPlace = std::function<double(double value)>;

/// The marks of an axis from 0 to `length`, a line through the plot and the number beside it.
/// REQUIRES: length > 0.
[[nodiscard]] std::string x_marks(double length, double top, double bottom, const AxisPlace& x);
[[nodiscard]] std::string y_marks(double length, double left, double right, const AxisPlace& y);

}  // namespace gradwire
