#pragma once

#include "sim/core/compute_profile.hpp"
#include "sim/core/units.hpp"
#include "sim/train/job.hpp"

namespace gradwire {

/// The job's profile, scaled so that an iteration of `micro_batches` on one of its GPUs takes
/// `known` under `strategy`: what the strategy does there, alone (hooks, copies of gradients,
/// broadcasts of buffers), is no compute. Without jitter.
/// @throws UnsupportedConfiguration (Key::profile) where the strategy is of asynchronous workers,
/// where GPUs differ, and where no compute leaves `known`, which is what the host needs, or less.
[[nodiscard]] ComputeProfile profile_timed_under(const Job& job, const StrategyFactory& strategy,
                                                 int micro_batches, Seconds known);

}  // namespace gradwire
