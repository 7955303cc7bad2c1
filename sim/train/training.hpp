#pragma once

#include <memory>

#include "sim/core/result.hpp"
#include "sim/core/units.hpp"
#include "sim/train/job.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Mean of so many iterations behind a first one under another strategy than the job's, made for
/// its view, with neither the spread of iterations nor that of layers.
/// REQUIRES: iterations >= 1; `strategy` is of synchronous workers.
[[nodiscard]] Seconds steady_iteration(const Job& job, std::unique_ptr<Strategy> strategy,
                                       int iterations);

/// Replays `run.warmup + run.iterations` iterations, those that choose_phases chooses.
/// @throws UnsupportedConfiguration when `step` is asked for of more asynchronous ranks than are
/// simulated each; when inputs are uneven and the strategy's ranks would wait for
/// ever.
/// @throws DoesNotFit when a rank keeps more than its GPU has, unless `run.ignore_memory`: before
/// an iteration is replayed.
/// @throws SimulationError when operations are left that can never run; it names them.
[[nodiscard]] RunResult simulate(const Job& job);

}  // namespace gradwire
