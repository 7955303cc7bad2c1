#pragma once

#include <string>

#include "sim/report/point.hpp"

namespace gradwire {

/// The recorded iteration of a point as a picture, 1200 pixels wide: a row a resource of each
/// worker class, bars coloured by what they are, a time axis in ms. Bars carry a tooltip. REQUIRES:
/// the point has spans.
[[nodiscard]] std::string timeline_svg(const Point& point);

}  // namespace gradwire
