#pragma once

#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// Seconds that a message of a flow class waits before its first byte moves: the latency of its
/// links and the cost's share for the slowest of them. A measured time holds all of it: then 0.
[[nodiscard]] double message_latency(const FlowClass& flow, const CollectiveCost& cost);

/// Seconds of one of `steps` messages of a flow class when its phase is uncontended, latency
/// included.
/// @param bytes  of the collective on the wire.
[[nodiscard]] double message_time(const FlowClass& flow, int steps, double bytes,
                                  const CollectiveCost& cost);

/// Messages that follow each other on the longest way through a group:
/// `steps` for a ring or an independent flow; for a pipeline those of its longest way + steps - 1.
[[nodiscard]] int rounds(const PhaseClasses& phase, const GroupClass& group);

/// Seconds that each group of each phase takes when the collective is uncontended, without
/// start-up.
///
/// With a message's time t_i = latency_i + (share_i * bytes / steps) / fair_rate_i for flow i:
///   ring, independent:  steps * max_i t_i
///   pipeline:           of all ways through it the largest sum of t_i + (steps - 1) * the largest
///                       t_i on it (a chain of equal hops: (flows + steps - 1) * t);
///                       of whole messages (steps 1): forwarding_times()
/// With a measured `cost.uncontended` all are scaled so that the longest of the phases add up to
/// it.
/// @param bytes  on the wire, > 0. @return [phase][group]
[[nodiscard]] std::vector<std::vector<double>> pace(const Quotient& quotient,
                                                    const PatternClasses& pattern, double bytes,
                                                    const CollectiveCost& cost);

}  // namespace gradwire
