#include "sim/train/training.hpp"

#include <cassert>
#include <memory>
#include <span>
#include <utility>

#include "sim/core/refusal.hpp"
#include "sim/core/statistics.hpp"
#include "sim/engine/transport.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/thinning.hpp"
#include "sim/train/training_run.hpp"

namespace gradwire {
namespace {

std::span<const int> classes_of(const Job& job) {
  return job.classes == nullptr ? std::span<const int>() : job.classes->of_rank;
}

/// Seconds of an iteration, on average of so many behind a first one.
double pace(Job job, std::unique_ptr<Strategy> strategy, const std::vector<MemberGroup>& members,
            int iterations) {
  job.run.warmup = 1;
  job.run.iterations = iterations;
  job.record_spans = false;
  return mean(TrainingRun(job, std::move(strategy), members).run().samples);
}

/// Runs workers that go their own pace.
RunResult run_apart(const Job& job, const JobView& view, std::vector<MemberGroup> members) {
  auto strategy = job.make_strategy(view);
  if (job.run.start_apart && !strategy->traits().workers_wait) {
    spread_starts(members, pace(job, job.make_strategy(view), members, 1), job.run.seed);
  }
  return TrainingRun(job, std::move(strategy), std::move(members)).run();
}

RunResult simulate_once(const Job& job) {
  const JobView view = job_view(job);
  auto strategy = job.make_strategy(view);
  const int world_size = static_cast<int>(job.placement.size());
  const bool independent = strategy->traits().independent_workers;
  if (!job.uneven_inputs.empty() && !strategy->traits().shadows_ranks) {
    throw RefusedChoice(RefusedChoice::Key::strategy,
                        "'uneven_inputs' with a strategy whose ranks would wait for those that "
                        "have run out; expected 'name: ddp' with 'join: true'");
  }
  const std::vector<int> inputs = inputs_of_ranks(world_size, job.uneven_inputs);
  auto members =
      make_members(world_size, job.jitter, job.stragglers, job.profile, job.run.seed,
                   {.worker_class = classes_of(job), .inputs = inputs, .together = !independent});
  if (!independent) return TrainingRun(job, std::move(strategy), std::move(members)).run();
  if (world_size <= job.independent_workers_max) return run_apart(job, view, std::move(members));
  const Thinning thinning(job, strategy->exchanges());
  return thinning.of_all(run_apart(thinning.job(), thinning.view(), thinning.chosen(members)));
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
