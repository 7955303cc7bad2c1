#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// A problem's columns by the rows that they pass, of those where flows of different classes meet
/// and that can be full: columns through the same rows are one route class.
struct RouteClasses {
  explicit RouteClasses(const FlowProblem& problem);

  std::vector<std::uint32_t> of;     ///< column -> its route class
  std::vector<std::uint32_t> begin;  ///< route class -> its first use, and behind all the end
  std::vector<RowUse> uses;
  std::vector<double>
      own;  ///< route class -> bytes per second that its own rows let through; no_cap: any
};

}  // namespace gradwire
