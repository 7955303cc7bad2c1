#include "sim/train/training.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <deque>
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

/// Which of a strategy's exchanges are laid: a thousand servers have a million, and few of them may
/// get anything.
enum class Lay : std::uint8_t { used, all };

/// A run of one instance of the strategy.
RunResult run(const Job& job, StrategyInstance instance, std::vector<MemberGroup> members) {
  std::vector<StrategyInstance> instances;
  instances.push_back(std::move(instance));
  return TrainingRun(job, std::move(instances), std::move(members)).run();
}

/// The job with so many iterations behind a first one.
Job short_run(const Job& job, int iterations) {
  Job short_job = job;
  short_job.run.warmup = 1;
  short_job.run.iterations = iterations;
  short_job.record_spans = false;
  return short_job;
}

/// Runs asynchronous workers. A short run in which they start together, where there is one, says
/// how far apart they start: its events count as those of the run.
RunResult run_apart(const Job& job, const JobView& view, std::vector<MemberGroup> members,
                    Lay lay) {
  StrategyInstance instance(job, job.make_strategy(view));
  if (lay == Lay::used) instance.lay_used(view);
  double before_s = 0;
  if (job.run.start_apart && !instance.traits.workers_wait) {
    const Job short_job = short_run(job, 1);
    StrategyInstance first(short_job, job.make_strategy(view));
    first.exchanges = instance.exchanges;
    const RunResult together = run(short_job, std::move(first), members);
    before_s = together.engine_cost.run_s;
    spread_starts(members, mean(together.samples), job.run.seed);
  }
  RunResult result = run(job, std::move(instance), std::move(members));
  result.engine_cost.run_s += before_s;
  return result;
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
            .servers = all.servers,
            .doubts = all.doubts} {}

  Placement placement;
  Job job;
};

/// Runs a job whose classes of ranks have programs of their own.
RunResult run_classes(const Job& job, Lay lay) {
  assert(class_count(job) == 1 && job.uneven_inputs.empty());
  check_classes(job.rank_classes, static_cast<int>(job.placement.size()));
  std::deque<ClassJob> jobs;
  std::vector<StrategyInstance> instances;
  std::vector<int> class_of(job.placement.size());
  for (std::size_t i = 0; i < job.rank_classes.size(); ++i) {
    const RankClass& own = job.rank_classes[i];
    const Job& alone = jobs.emplace_back(job, own).job;
    const JobView view = job_view(alone);
    StrategyInstance& instance =
        instances.emplace_back(alone, own.program, job.make_strategy(view));
    if (lay == Lay::used) instance.lay_used(view);
    for (const ProcessGroup& group : own.data_parallel) {
      for (const int rank : group.ranks) {
        class_of[static_cast<std::size_t>(rank)] = static_cast<int>(i);
      }
    }
    if (instance.traits.independent_workers) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::strategy,
          "asynchronous workers cannot share a model's layers; expected a strategy "
          "of synchronous ones");
    }
  }
  auto members = make_members(job.placement, job.jitter, job.stragglers, job.profile, job.run.seed,
                              {.rank_class = class_of});
  std::ranges::stable_sort(members, {}, &MemberGroup::rank_class);
  return TrainingRun(job, std::move(instances), std::move(members)).run();
}

RunResult simulate_once(const Job& job, Lay lay) {
  if (!job.rank_classes.empty()) return run_classes(job, lay);
  const JobView view = job_view(job);
  std::unique_ptr<Strategy> strategy = job.make_strategy(view);
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
      make_members(job.placement, job.jitter, job.stragglers, job.profile, job.run.seed,
                   {.worker_class = classes_of(job), .inputs = inputs, .together = !independent});
  if (!independent) {
    StrategyInstance instance(job, std::move(strategy));
    if (lay == Lay::used) instance.lay_used(view);
    return run(job, std::move(instance), std::move(members));
  }
  if (world_size <= job.independent_workers_max) {
    return run_apart(job, view, std::move(members), lay);
  }
  if (job.engine.fidelity == Fidelity::step) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::fidelity,
        fmt::format("fidelity 'step' of {} asynchronous ranks, of which {} stand for all; at most "
                    "{} are simulated each; use 'auto'",
                    world_size, job.sampled_workers, job.independent_workers_max));
  }
  const WorkerSampling sampling(job, *strategy);
  strategy.reset();
  return sampling.of_all(run_apart(sampling.job(), sampling.view(), sampling.chosen(members), lay));
}

/// Bytes.
double peak_memory() {
  constexpr double unit = 1024;  // getrusage(2)
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return unit * static_cast<double>(usage.ru_maxrss);
}

}  // namespace

Seconds steady_iteration(const Job& job, std::unique_ptr<Strategy> strategy, int iterations) {
  assert(iterations > 0 && !strategy->traits().independent_workers);
  Job steady = short_run(job, iterations);
  steady.jitter.iteration = 0;
  steady.jitter.layer = 0;
  steady.run.ignore_memory = true;  // the job's own strategy may keep less
  const auto members = make_members(job.placement, steady.jitter, job.stragglers, job.profile,
                                    job.run.seed, {.worker_class = classes_of(job)});
  return Seconds{mean(run(steady, {steady, std::move(strategy)}, members).samples)};
}

RunResult simulate(const Job& job) {
  const auto begin = std::chrono::steady_clock::now();
  const auto lay_what_is_posted = [](const Job& one) {
    try {
      return simulate_once(one, Lay::used);
    } catch (const ExchangeNotLaid&) {
      return simulate_once(one, Lay::all);
    }
  };
  const auto with_either_solver = [&] {
    try {
      return lay_what_is_posted(job);
    } catch (const TooManyFlows&) {
      Job exact = job;
      exact.engine.slack = 0;
      return lay_what_is_posted(exact);
    }
  };
  RunResult result = with_either_solver();
  EngineCost& cost = result.engine_cost;
  cost.total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  cost.plan_s = cost.total_s - cost.run_s;
  cost.peak_memory = peak_memory();
  return result;
}

}  // namespace gradwire
