#pragma once

#include <string>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// What one rank sends to another.
struct ScheduledMessage {
  int source = 0;
  int destination = 0;
  double share = 0;  ///< bytes / size of the collective, > 0

  bool operator==(const ScheduledMessage&) const = default;
};

/// Messages at the same time; the next round begins when all have arrived.
struct Round {
  std::vector<ScheduledMessage> messages;
  int steps = 1;  ///< each message goes in so many equal ones, one after the other

  bool operator==(const Round&) const = default;
};

/// Who sends how much to whom, whatever the network: what most algorithms are.
using Schedule = std::vector<Round>;

/// The schedule backwards: the last round first, every message from its destination to its source.
/// What spreads data so collects them: scatter and gather, all-gather and reduce-scatter. A round
/// of exchanges between pairs stays as it is.
[[nodiscard]] Schedule mirrored(const Schedule& schedule);

/// Appends the rounds of `more`.
void append(Schedule& schedule, Schedule more);

/// Appends the flow of a message, with its links, to the last phase of a pattern: the way of
/// Cluster::append_route.
void append_message(const Cluster& cluster, const Placement& members,
                    const ScheduledMessage& message, int group, Pattern& pattern);

/// Lays a schedule over the cluster, a phase a round; equal rounds share their links.
/// @throws SimulationError as machines_of, or where two machines have no way to each other.
[[nodiscard]] Pattern lay_out(const Schedule& schedule, CollectiveKind kind,
                              const std::string& algorithm, const Cluster& cluster,
                              const Placement& members);

}  // namespace gradwire
