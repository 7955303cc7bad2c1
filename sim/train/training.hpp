#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/process_groups.hpp"
#include "sim/core/result.hpp"
#include "sim/core/scenario.hpp"
#include "sim/core/worker_class.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/engine/engine.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

using StrategyFactory = std::function<std::unique_ptr<Strategy>(const JobView&)>;

/// All that a training run is made of. References must outlive the call of simulate().
struct Job {
  const ComputeProfile& profile;
  const GpuSpec& gpu;
  const Cluster& cluster;
  const Placement& placement;
  const StrategyFactory& make_strategy;
  const CollectiveLibrary& library;
  JitterSpec jitter;
  std::vector<StragglerSpec> stragglers;
  RunSpec run;
  EngineOptions engine;
  int micro_batches = 1;                   ///< backward passes per optimizer step
  bool record_spans = false;               ///< keep the timeline of the first measured iteration
  const WorkerClasses* classes = nullptr;  ///< of a cluster with several types of GPUs
  std::vector<int> servers{};              ///< machine of each parameter server
  std::vector<InputSpec> uneven_inputs{};  ///< a rank at most once; some rank has inputs to the end
  /// Of workers that go their own pace so many are simulated at most; where there are more, evenly
  /// chosen ones stand for all (thinning.hpp). At least 2.
  int independent_workers_max = 128;
  /// Families of groups beside those of the placement, numbered from families::own on, of this
  /// job's ranks: a ParallelLayout's. Only of synchronous workers.
  std::vector<GroupFamily> families{};
};

/// Worker classes of the job: class 0 and the others.
[[nodiscard]] int class_count(const Job& job);
/// How the ranks of a class compute. REQUIRES: 0 <= worker_class < class_count(job).
[[nodiscard]] const ComputeProfile& profile_of(const Job& job, int worker_class);
[[nodiscard]] const GpuSpec& gpu_of(const Job& job, int worker_class);

/// What strategies are told of a job.
[[nodiscard]] JobView job_view(const Job& job);

/// Mean of so many iterations behind a first one under another strategy than the job's, made for
/// its view, with neither the spread of iterations nor that of layers.
/// REQUIRES: iterations >= 1; `strategy` is of synchronous workers.
[[nodiscard]] Seconds steady_iteration(const Job& job, std::unique_ptr<Strategy> strategy,
                                       int iterations);

/// Replays `run.warmup + run.iterations` iterations, those that choose_phases chooses.
/// @throws RefusedChoice when inputs are uneven and the strategy's ranks would wait for ever.
/// @throws SimulationError when operations are left that can never run; it names them.
[[nodiscard]] RunResult simulate(const Job& job);

}  // namespace gradwire
