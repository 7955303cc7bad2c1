#include "sim/train/training.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/refusal.hpp"
#include "sim/core/statistics.hpp"
#include "sim/engine/transport.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/training_run.hpp"
#include "sim/train/worker_sampling.hpp"

namespace gradwire {
namespace {

std::span<const int> classes_of(const Job& job) {
  return job.classes == nullptr ? std::span<const int>() : job.classes->of_rank;
}

/// A run of one instance of the strategy.
RunResult run(const Job& job, std::unique_ptr<Strategy> strategy,
              std::vector<MemberGroup> members) {
  std::vector<StrategyInstance> instances;
  instances.emplace_back(job, std::move(strategy));
  return TrainingRun(job, std::move(instances), std::move(members)).run();
}

/// Seconds of an iteration, on average of so many behind a first one.
double pace(Job job, std::unique_ptr<Strategy> strategy, const std::vector<MemberGroup>& members,
            int iterations) {
  job.run.warmup = 1;
  job.run.iterations = iterations;
  job.record_spans = false;
  return mean(run(job, std::move(strategy), members).samples);
}

/// Runs asynchronous workers.
RunResult run_apart(const Job& job, const JobView& view, std::vector<MemberGroup> members) {
  auto strategy = job.make_strategy(view);
  if (job.run.start_apart && !strategy->traits().workers_wait) {
    spread_starts(members, pace(job, job.make_strategy(view), members, 1), job.run.seed);
  }
  return run(job, std::move(strategy), std::move(members));
}

/// The job of a class of ranks as if its first data-parallel group were alone.
struct ClassJob {
  ClassJob(const Job& all, const RankClass& own)
      : placement(placement_of(own.data_parallel.front().ranks, all.placement)),
        job{.profile = own.profile,
            .gpu = all.gpu,
            .cluster = all.cluster,
            .placement = placement,
            .make_strategy = all.make_strategy,
            .library = all.library,
            .jitter = all.jitter,
            .stragglers = {},
            .run = all.run,
            .engine = all.engine,
            .micro_batches = micro_batches_of(own.program),
            .servers = all.servers} {}

  Placement placement;
  Job job;
};

/// Runs a job whose classes of ranks have programs of their own.
RunResult run_classes(const Job& job) {
  assert(class_count(job) == 1 && job.uneven_inputs.empty());
  check_classes(job.rank_classes, static_cast<int>(job.placement.size()));
  std::deque<ClassJob> jobs;
  std::vector<StrategyInstance> instances;
  std::vector<int> class_of(job.placement.size());
  for (std::size_t i = 0; i < job.rank_classes.size(); ++i) {
    const RankClass& own = job.rank_classes[i];
    const Job& alone = jobs.emplace_back(job, own).job;
    instances.emplace_back(alone, own.program, job.make_strategy(job_view(alone)));
    for (const ProcessGroup& group : own.data_parallel) {
      for (const int rank : group.ranks) {
        class_of[static_cast<std::size_t>(rank)] = static_cast<int>(i);
      }
    }
    if (instances.back().traits.independent_workers) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::strategy,
          "asynchronous workers cannot share a model's layers; expected a strategy "
          "of synchronous ones");
    }
  }
  auto members = make_members(static_cast<int>(job.placement.size()), job.jitter, job.stragglers,
                              job.profile, job.run.seed, {.rank_class = class_of});
  std::ranges::stable_sort(members, {}, &MemberGroup::rank_class);
  return TrainingRun(job, std::move(instances), std::move(members)).run();
}

RunResult simulate_once(const Job& job) {
  if (!job.rank_classes.empty()) return run_classes(job);
  const JobView view = job_view(job);
  auto strategy = job.make_strategy(view);
  const int world_size = static_cast<int>(job.placement.size());
  const bool independent = strategy->traits().independent_workers;
  if (!job.uneven_inputs.empty() && !strategy->traits().shadows_ranks) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "'uneven_inputs' with a strategy whose ranks would wait for those that "
        "have run out; expected 'name: ddp' with 'join: true'");
  }
  const std::vector<int> inputs = inputs_of_ranks(world_size, job.uneven_inputs);
  auto members =
      make_members(world_size, job.jitter, job.stragglers, job.profile, job.run.seed,
                   {.worker_class = classes_of(job), .inputs = inputs, .together = !independent});
  if (!independent) return run(job, std::move(strategy), std::move(members));
  if (world_size <= job.independent_workers_max) return run_apart(job, view, std::move(members));
  const WorkerSampling sampling(job, strategy->exchanges());
  return sampling.of_all(run_apart(sampling.job(), sampling.view(), sampling.chosen(members)));
}

}  // namespace

Seconds steady_iteration(const Job& job, std::unique_ptr<Strategy> strategy, int iterations) {
  assert(iterations > 0 && !strategy->traits().independent_workers);
  Job steady = job;
  steady.jitter.iteration = 0;
  steady.jitter.layer = 0;
  const auto members =
      make_members(static_cast<int>(job.placement.size()), steady.jitter, job.stragglers,
                   job.profile, job.run.seed, {.worker_class = classes_of(job)});
  return Seconds{pace(steady, std::move(strategy), members, iterations)};
}

RunResult simulate(const Job& job) {
  try {
    return simulate_once(job);
  } catch (const TooManyFlows&) {
    Job exact = job;
    exact.engine.slack = 0;
    return simulate_once(exact);
  }
}

}  // namespace gradwire
