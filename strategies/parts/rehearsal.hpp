#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// A collective and when it was posted, since the start of its iteration.
struct RehearsedCollective {
  Seconds posted{};
  Collective collective;
};

/// Runs a strategy without an engine, to learn what it forms: hooks fire when the profile's
/// backward reaches their layer, markers end at once, host work and timers take their time,
/// collectives what they take uncontended (nothing where the job has no all_reduce_time) one after
/// the other on their stream, and device work and messages nothing. An iteration ends when all it
/// waits for has ended.
///
/// REQUIRES: `strategy` is new, of synchronous workers.
/// @return what was posted in iteration `iteration` (from 0), in order.
[[nodiscard]] std::vector<RehearsedCollective> rehearse(Strategy& strategy, const JobView& job,
                                                        int iteration);

/// The exchanges that `workers` independent workers, or one class of synchronous ones, post
/// messages by in each of two iterations, by index; all of them where the second differs from the
/// first. All messages end at once; it ends when all exchanges are used. @param count  of them.
/// REQUIRES: `strategy` is new.
[[nodiscard]] std::vector<bool> rehearse_exchanges(Strategy& strategy, const JobView& job,
                                                   int workers, std::size_t count);

/// The collectives that carry tensors, as a plan; of a reduction in several steps the first.
[[nodiscard]] std::vector<PlanGroup> groups_of(const JobView& job,
                                               const std::vector<RehearsedCollective>& collectives);

/// When each gradient is ready, since the start of backward, in gradient order: the end of its
/// layer's backward, or that of an earlier one in the order if that is later (a tied weight).
/// @param layer_time  of a layer's backward.
[[nodiscard]] std::vector<Seconds> ready_times(
    const JobView& job, Seconds (*layer_time)(const LayerView&) = [](const LayerView& layer) {
      return layer.backward;
    });

}  // namespace gradwire
