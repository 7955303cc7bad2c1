#include "sim/train/training.hpp"

#include <span>
#include <utility>

#include "sim/train/jitter.hpp"
#include "sim/train/thinning.hpp"
#include "sim/train/training_run.hpp"

namespace gradwire {
namespace {

std::span<const int> classes_of(const Job& job) {
  return job.classes == nullptr ? std::span<const int>() : job.classes->of_rank;
}

}  // namespace

RunResult simulate(const Job& job) {
  auto strategy = job.make_strategy(job_view(job));
  const int world_size = static_cast<int>(job.placement.size());
  const bool independent = strategy->traits().independent_workers;
  auto members = make_members(world_size, job.jitter, job.stragglers, job.profile, job.run.seed,
                              classes_of(job), !independent);
  if (!independent || world_size <= job.independent_workers_max) {
    return TrainingRun(job, std::move(strategy), std::move(members)).run();
  }
  const Thinning thinning(job, strategy->exchanges());
  auto thinned = job.make_strategy(thinning.view());
  return thinning.of_all(
      TrainingRun(thinning.job(), std::move(thinned), thinning.chosen(members)).run());
}

}  // namespace gradwire
