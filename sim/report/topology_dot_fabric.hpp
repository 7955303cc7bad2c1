#pragma once

#include <span>
#include <string>

#include "sim/core/fabric.hpp"
#include "sim/report/dot_canvas.hpp"

namespace gradwire {

/// A NIC that is drawn.
struct DrawnPort {
  std::string name;
  Place place;
  int number = 0;  ///< of the fabric's port
};

/// Draws the fabric above what is drawn: a row of boxes for each number of trunks from the ports,
/// switches that are alike in one box where there are many. Trunks between rows are lines, those
/// within a row bows.
/// @return what is not drawn because its row is full, as a clause for the note; "" when all is.
[[nodiscard]] std::string draw_fabric(const Fabric& fabric, std::span<const DrawnPort> ports,
                                      DotCanvas& canvas);

}  // namespace gradwire
