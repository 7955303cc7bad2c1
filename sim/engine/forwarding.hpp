#pragma once

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// Seconds that a pipeline's group of whole messages takes when it is uncontended: a flow begins
/// when all that it waits for has arrived, and the flows that move at one time share their rows
/// equally. Of a class those that move are taken to be spread evenly over its links.
///
/// This is what StepNetwork does message by message, but for flows that others of a row leave some
/// of their part, being limited elsewhere: those get no more here. REQUIRES: the group is not
/// coupled.
/// @param bytes  of the collective on the wire, > 0
[[nodiscard]] double forwarding_time(const Quotient& quotient, const GroupClass& group,
                                     double bytes, const CollectiveCost& cost);

}  // namespace gradwire
