#include "sim/train/strategy_instance.hpp"

#include <algorithm>
#include <utility>

#include "strategies/parts/rehearsal.hpp"

namespace gradwire {
namespace {

/// So few exchanges, or such of so few messages, are all laid: to rehearse costs more than they do.
/// A message and an operation take some microseconds each: KungFu's ring of 1024 GPUs has 2176
/// messages and half a million operations. Assumed.
constexpr std::size_t exchanges_laid_at_once = 64;
constexpr std::size_t messages_laid_at_once = 10'000;

}  // namespace

StrategyInstance::StrategyInstance(const Job& of, const Program& program,
                                   std::unique_ptr<Strategy> made)
    : job(of),
      strategy(std::move(made)),
      traits(strategy->traits()),
      kept(micro_batches_kept(program)) {
  for (int c = 0; c < class_count(of); ++c) {
    const ComputeProfile& profile = profile_of(of, c);
    scripts.push_back(launch_script(profile, program, !traits.own_optimizer, traits.late_step));
  }
  if (!traits.independent_workers) return;
  strategy->visit_exchanges([this](const Exchange& exchange) {
    const bool empty = exchange.phases.empty() || exchange.phases.front().empty();
    worker_of_exchange.push_back(empty ? 0 : worker_of(exchange));
  });
}

StrategyInstance::StrategyInstance(const Job& of, std::unique_ptr<Strategy> made)
    : StrategyInstance(of, data_parallel_program(of.profile, of.micro_batches), std::move(made)) {}

double StrategyInstance::take_thread(int thread, double now, double seconds) {
  const auto number = static_cast<std::size_t>(thread);
  if (number >= threads.size()) threads.resize(number + 1);
  const double start = std::max(now, threads[number]);
  threads[number] = start + seconds;
  return start;
}

void StrategyInstance::lay_used(const JobView& view) {
  std::size_t count = 0;
  std::size_t messages = 0;
  strategy->visit_exchanges([&](const Exchange& exchange) {
    ++count;
    for (const auto& phase : exchange.phases) messages += phase.size();
  });
  if (count <= exchanges_laid_at_once || messages <= messages_laid_at_once) return;
  const int workers = traits.independent_workers ? view.world_size : 1;
  exchanges = rehearse_exchanges(*job.make_strategy(view), view, workers, count);
}

}  // namespace gradwire
