#pragma once

#include <cstdint>
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

/// A flow through a column of a problem.
struct ColumnFlow {
  std::uint32_t column = 0;
  double cap = Transport::no_cap;  ///< bytes per second
};

/// Rates by the law of Transport, copies' turns included: max_min_rates of the other flows, each
/// row's share of theirs as its capacity, and then of the copies, with what these leave.
/// @param never_full  [row]: others keep it from being full; empty: none is such.
[[nodiscard]] std::vector<double> rates_in_turn(const FlowProblem& problem,
                                                std::span<const ColumnFlow> flows,
                                                const std::vector<bool>& never_full = {});

}  // namespace gradwire
