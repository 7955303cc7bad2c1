#include "sim/train/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/tensor_timeline.hpp"
#include "sim/train/gain.hpp"
#include "sim/train/rank_memory.hpp"
#include "strategies/tensor_phases.hpp"
#include "strategies/tuned_knobs.hpp"

namespace gradwire {
namespace {

EngineOptions engine_options(const Job& job, const Traits& traits) {
  EngineOptions options = job.engine;
  options.one_at_a_time = !traits.dynamic && job.library.concurrent_collectives() == 1;
  return options;
}

/// Adds the phases of tensors that lie within the recorded bars.
void append_phases(const TensorTimeline& timeline, const std::vector<TensorInfo>& tensors,
                   std::vector<Span>& spans) {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;
  for (const Span& span : spans) {
    start = std::min(start, span.start);
    end = std::max(end, span.start + span.duration);
  }
  for (const auto& [tensor, name, from, to] : timeline.phases()) {
    if (from.count() < start || to.count() > end) continue;
    const TensorInfo& info = tensors[static_cast<std::size_t>(tensor)];
    spans.push_back({.resource = info.name,
                     .worker = tensor_timeline,
                     .name = name,
                     .start = from.count(),
                     .duration = (to - from).count(),
                     .bytes = 0,
                     .tensors = {},
                     .cause = ""});
  }
}

}  // namespace

TrainingRun::TrainingRun(const Job& job, std::unique_ptr<Strategy> strategy,
                         std::vector<MemberGroup> members)
    : job_(job),
      strategy_(std::move(strategy)),
      phases_(choose_phases(strategy_->phasing(), job.run)),
      traits_(strategy_->traits()),
      plans_(job, *strategy_),
      engine_(make_engine(job.cluster, plans_.patterns(), engine_options(job, traits_))),
      members_(std::move(members)),
      summary_(job, members_, traits_.independent_workers, traits_.lead),
      messages_(job.jitter.message, job.run.seed) {
  for (int c = 0; c < class_count(job); ++c) {
    scripts_.push_back(
        launch_script(profile_of(job, c), job.micro_batches, !traits_.own_optimizer));
  }
  if (traits_.independent_workers) {
    for (const MemberGroup& member : members_) add_lane({member});
    for (const Exchange& exchange : strategy_->exchanges()) {
      const bool empty = exchange.phases.empty() || exchange.phases.front().empty();
      worker_of_exchange_.push_back(empty ? 0 : worker_of(exchange));
    }
  } else {
    add_lane(members_);
  }
  lanes_running_ = lanes_.size();
  auto* timeline = dynamic_cast<TensorTimeline*>(strategy_.get());
  if (timeline != nullptr && job.record_spans) timeline->record(job.library.on_gpu());
}

RunResult TrainingRun::run() {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    engine_->at(Seconds{lanes_[lane].workers.members().front().start}, [this, lane] {
      begin_iteration(lane);
      pump();
    });
  }
  engine_->run([this](TransferId id, Seconds /*now*/) {
    transfer_done(id);
    pump();
  });
  for (const WorkerLane& lane : lanes_) {
    if (lane.iteration >= iterations()) continue;
    throw SimulationError(fmt::format("iteration {} never ends; waiting: {}", lane.iteration,
                                      lane.workers.waiting()));
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  RunResult result =
      summary_.result(plans_, engine_->network(), engine_->now(), log_.moving.total(), wall.count(),
                      std::move(lanes_[traced_lane()].workers.spans()));
  result.staleness = strategy_->staleness();
  tell_memory(result);
  for (auto& remark : strategy_->remarks()) {
    result.warnings.insert(result.warnings.begin(), {"knob-not-followed", std::move(remark)});
  }
  const auto* timeline = dynamic_cast<const TensorTimeline*>(strategy_.get());
  if (timeline != nullptr) append_phases(*timeline, tensors_of(job_.profile), result.spans);
  const auto* knobs = dynamic_cast<const TunedKnobs*>(strategy_.get());
  if (knobs != nullptr && !knobs->tuned().empty()) {
    result.warnings.push_back({"autotuned", knobs->tuned()});
  }
  result.warnings.insert(result.warnings.begin(), phases_.warnings.begin(), phases_.warnings.end());
  return result;
}

void TrainingRun::tell_memory(RunResult& result) const {
  const auto held = [&](const Holding& holding) {
    return rank_memory(job_.profile, job_.gpu, holding, job_.micro_batches);
  };
  const auto tell = [&](std::optional<Warning> warning) {
    if (warning) result.warnings.push_back(std::move(*warning));
  };
  result.memory = held(strategy_->holding());
  if (result.memory) tell(memory_warning(*result.memory, job_.profile));
  const auto alone = held({});
  result.one_gpu_fits = !alone || fits(*alone);
  if (result.one_gpu_fits) tell(gain_warning(result, job_.profile.optimizer));
}

void TrainingRun::add_lane(std::vector<MemberGroup> members) {
  const CommunicationStream stream{.on_gpu = job_.library.on_gpu(),
                                   .concurrent = job_.library.concurrent_collectives(),
                                   .run_ahead = !traits_.dynamic};
  std::vector<GpuCapacity> gpus;
  gpus.reserve(static_cast<std::size_t>(class_count(job_)));
  for (int c = 0; c < class_count(job_); ++c) gpus.push_back(capacity_of(gpu_of(job_, c)));
  lanes_.push_back({.workers = Workers(std::move(members), tensors_of(job_.profile), log_,
                                       std::move(gpus), stream),
                    .draws = IterationDraws(job_.jitter, job_.profile, job_.run.seed)});
}

}  // namespace gradwire
