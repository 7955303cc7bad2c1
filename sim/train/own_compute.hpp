#pragma once

#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/job.hpp"

namespace gradwire {

/// What a member's ranks compute.
[[nodiscard]] const ComputeProfile& profile_of(const Job& job, const MemberGroup& member);

/// Micro-batches of an iteration.
[[nodiscard]] int micro_batches_of(const Job& job);

/// Ranks that one replica of the model is split over: 1 without classes of ranks.
[[nodiscard]] int ranks_of_replica(const Job& job);

/// Seconds of an iteration's kernels on a GPU of the member's class at nominal speed.
[[nodiscard]] double device_time(const Job& job, const MemberGroup& member);

/// Seconds of an iteration without communication: of several types of GPUs that of their mean rate,
/// of ranks that do different things their mean.
[[nodiscard]] double own_iteration(const Job& job, const std::vector<MemberGroup>& members);

}  // namespace gradwire
