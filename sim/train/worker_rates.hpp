#pragma once

#include <vector>

#include "sim/core/scenario.hpp"

namespace gradwire {

/// Seconds of each of a worker's iterations, those of the warm-up first.
using WorkerIterations = std::vector<double>;

/// Iterations per second of independent workers, each over all of its measured iterations.
/// REQUIRES: as mean_iterations.
[[nodiscard]] std::vector<double> worker_rates(const std::vector<WorkerIterations>& workers,
                                               const RunSpec& run);

/// Seconds of the run's measured iterations: weighted by their rates the workers' times have a mean
/// in which each iterates once on average.
/// Those that are through go on until the last one is, so that workers of a longer run take, in
/// its first iterations, what those of a shorter one take.
/// REQUIRES: each worker has all iterations of the run.
[[nodiscard]] std::vector<double> mean_iterations(const std::vector<WorkerIterations>& workers,
                                                  const RunSpec& run);

}  // namespace gradwire
