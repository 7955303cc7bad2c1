#pragma once

#include <string>

#include "sim/report/point.hpp"

namespace gradwire {

/// One prediction for reading: iteration, throughput, where the time goes, communication, the
/// busiest links, and how it was computed.
[[nodiscard]] std::string summary(const Point& point);

}  // namespace gradwire
