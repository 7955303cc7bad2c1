#pragma once

#include <span>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// A flow of a max-min problem.
struct CappedFlow {
  std::span<const RowUse> uses;
  double cap = Transport::no_cap;  ///< bytes per second
};

/// Max-min fair rates in bytes per second, by progressive filling: all rates grow together; a flow
/// stops at its cap or when a row of its is full. Slow and plain: the oracle of the tests.
[[nodiscard]] std::vector<double> max_min_rates(std::span<const double> capacity,
                                                std::span<const CappedFlow> flows);

}  // namespace gradwire
