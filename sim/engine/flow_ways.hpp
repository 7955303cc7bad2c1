#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// The ways of a problem's columns through those of its rows where flows of different ways meet and
/// that can be full. Columns through the same rows go one way.
struct FlowWays {
  explicit FlowWays(const FlowProblem& problem);

  std::vector<std::uint32_t> of;     ///< column -> its way
  std::vector<std::uint32_t> begin;  ///< way -> its first use, and behind all the end
  std::vector<RowUse> uses;
  std::vector<double> own;  ///< way -> bytes per second that its own rows let through; no_cap: any
};

}  // namespace gradwire
