#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/process_groups.hpp"
#include "sim/core/scenario.hpp"
#include "sim/core/uncertainty.hpp"
#include "sim/core/worker_class.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/engine/engine.hpp"
#include "sim/train/program.hpp"
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
  /// Up to so many asynchronous workers are simulated one by one. Where there are more, evenly
  /// chosen ones stand for all (worker_sampling.hpp). At least 2.
  int independent_workers_max = 128;
  int sampled_workers = 64;  ///< those, from 2 to independent_workers_max
  /// Families of groups beside those of the placement, numbered from families::own on, of this
  /// job's ranks: a ParallelLayout's. Only of synchronous workers.
  std::vector<GroupFamily> families{};
  /// Where ranks do different things: classes that have every rank once. Empty: all ranks are
  /// replicas of `profile`, which else is that of the model as a whole. Only of synchronous workers
  /// on GPUs of one type, with inputs to the end.
  std::vector<RankClass> rank_classes{};
  /// Iterations that repeat those before them are counted, not run (repeats.hpp). The result is the
  /// same within rounding.
  bool count_repeats = true;
  DoubtWidths doubts{};
};

/// Classes of ranks that an instance of the strategy serves each.
[[nodiscard]] inline std::size_t instance_count(const Job& job) {
  return std::max<std::size_t>(1, job.rank_classes.size());
}

/// Worker classes of the job: class 0 and the others.
[[nodiscard]] int class_count(const Job& job);
/// How the ranks of a class compute. REQUIRES: 0 <= worker_class < class_count(job).
[[nodiscard]] const ComputeProfile& profile_of(const Job& job, int worker_class);
[[nodiscard]] const GpuSpec& gpu_of(const Job& job, int worker_class);

/// Whether each GPU of a machine's ranks reaches the memory of every other one there.
[[nodiscard]] bool are_peers(const Job& job, int machine);

/// What strategies know of a job.
[[nodiscard]] JobView job_view(const Job& job);

}  // namespace gradwire
