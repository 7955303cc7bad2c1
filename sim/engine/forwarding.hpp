#pragma once

#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// Seconds until the last message of each group of a phase has arrived, where whole messages are
/// sent on and nothing else moves: each begins when all that it waits for has arrived, and those
/// that move at one time share their rows max-min fairly.
/// @param bytes  of the collective on the wire, > 0
/// REQUIRES: forwards_messages() of the phase.
[[nodiscard]] std::vector<double> forwarding_times(const Quotient& quotient,
                                                   const PhaseClasses& phase, double bytes,
                                                   const CollectiveCost& cost);

}  // namespace gradwire
