#pragma once

#include <optional>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// How the machines of these ranks are alike; nothing where they are not: several machines of one
/// type that follow each other, with links of the same types, the same GPUs taking part in each and
/// ranks machine by machine.
[[nodiscard]] std::optional<MachineFold> fold_of(const Cluster& cluster, const Placement& members);

/// Finds what links are passed on other machines than the first (MachineFold::passed).
/// @return whether flows that stand for those of other machines have their links to themselves.
[[nodiscard]] bool folds_exactly(Pattern& pattern);

/// The same pattern with all its flows.
[[nodiscard]] Pattern unfolded(const Pattern& pattern);

}  // namespace gradwire
