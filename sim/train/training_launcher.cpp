#include "sim/train/training_run.hpp"

#include <algorithm>

#include "sim/train/inputs.hpp"
#include "sim/train/run_clock.hpp"

namespace gradwire {
namespace {

/// Iterations whose inputs are made ahead, the one that is being made among them. Assumed: two, as
/// a worker of torch.utils.data.DataLoader has (prefetch_factor).
constexpr std::size_t inputs_ahead = 2;

bool has_pre_hook(const Traits& traits, const LaunchStep& step) {
  return (traits.forward_hooks && step.item.part == Part::forward) ||
         (traits.backward_hooks && step.item.part == Part::backward);
}

}  // namespace

template <class Action>
void TrainingRun::at_launcher(std::size_t number, Action action) {
  const WorkerLane& lane = lanes_[number];
  engine_->at(Seconds{std::max(now(), lane.base + lane.host)}, [this, number, action] {
    action();
    launch(number);
    pump();
  });
}

void TrainingRun::begin_iteration(std::size_t number) {
  if (log_.has_grown()) forget_past();
  WorkerLane& lane = lanes_[number];
  lane.draws.draw(lane.iteration, lane.workers.members());
  if (traced(number)) lane.workers.trace(summary_.slowest_member() - lane.first_member);
  lane.workers.begin_iteration(lane.draws);
  lane.base = lane.workers.first_start();
  lane.host = 0;
  lane.step = 0;
  lane.hooked = false;
  dirty_.insert(lane.number);
  In& in = instance_of(lane);
  wait_for_inputs(lane);
  tell(in, IterationStart{phases_.first + lane.iteration - counted_again_,
                          static_cast<WorkerId>(number - in.first_lane)});
  launch(number);
}

void TrainingRun::wait_for_inputs(WorkerLane& lane) {
  if (job_.run.input_rate <= 0) return;
  // Those of the first iteration are there when the run begins.
  if (!lane.inputs_taken.empty()) {
    const bool full = lane.inputs_taken.size() == inputs_ahead;
    const double begins = full ? lane.inputs_taken.front() : run_begins;
    lane.input_made = std::max(lane.input_made, begins) + input_time(job_).count();
    if (full) lane.inputs_taken.pop_front();
  }
  lane.inputs_taken.push_back(std::max(lane.base, lane.input_made));
  if (lane.input_made <= lane.base) return;
  const OperationId id = log_.add("inputs");
  note_posted(id);
  In& in = instance_of(lane);
  in.activity.working.begin(lane.base);
  engine_->at(Seconds{std::max(now(), lane.input_made)}, [this, &in, id, base = lane.base] {
    in.activity.working.end(base, now());
    log_.end(id, now());
    note_ended(id);
    changed(id);
    pump();
  });
  lane.workers.post_gate({id});
}

void TrainingRun::forget_past() {
  double when = now();
  for (const WorkerLane& lane : lanes_) when = std::min(when, lane.workers.earliest());
  log_.forget_until(when);
  for (In& in : instances_) {
    in.activity.forget_before(when);
    in.ids.forget(log_);
  }
}

void TrainingRun::launch(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  In& in = instance_of(lane);
  const auto worker = static_cast<WorkerId>(number - in.first_lane);
  const auto& script = in.scripts.front();
  while (lane.step < script.size()) {
    const LaunchStep& step = script[lane.step];
    if (!lane.hooked && has_pre_hook(in.traits, step)) {
      lane.hooked = true;
      at_launcher(number, [this, &in, worker, &step] {
        if (step.item.part == Part::forward) {
          tell(in, ForwardStart{step.item.layer, step.micro_batch, worker});
        } else {
          tell(in, BackwardStart{step.item.layer, step.micro_batch, worker});
        }
      });
      return;
    }
    lane.hooked = false;
    if (step.communication) {
      ++lane.step;
      post(number, *step.communication);
      continue;
    }
    other_seconds_.clear();
    for (std::size_t c = 1; c < in.scripts.size(); ++c) {
      other_seconds_.push_back(in.scripts[c][lane.step].item.seconds);
    }
    ++lane.step;
    if (step.host > 0 && traced(number)) {
      lane.workers.span("host", "launch " + step.name, lane.base + lane.host,
                        lane.base + lane.host + step.host);
    }
    lane.host += step.host;
    ComputeItem item = step.item;
    item.script_name = &step.name;
    post_item(lane, item, {});
    if (step.hooks.empty() && !step.backward_done) continue;
    at_launcher(number, [this, &in, worker, &step] {
      for (const TensorId tensor : step.hooks) {
        tell(in, HookFired{tensor, step.micro_batch, worker});
      }
      if (step.backward_done) tell(in, BackwardDone{step.micro_batch, worker});
    });
    return;
  }
  dirty_.insert(lane.number);
}

void TrainingRun::sum_up(std::size_t number) {
  const WorkerLane& lane = lanes_[number];
  if (independent_) {
    if (summary_.iteration_ended(number, lane.iteration, lane.workers.samples())) {
      summary_.count_from(engine_->network(), engine_->now(), moved());
    }
    return;
  }
  const auto at = static_cast<std::size_t>(lane.iteration - summed_);
  while (ended_.size() <= at) {
    ended_.push_back({.samples = std::vector<IterationSample>(members_.size())});
  }
  std::ranges::copy(lane.workers.samples(),
                    ended_[at].samples.begin() + static_cast<std::ptrdiff_t>(lane.first_member));
  ++ended_[at].lanes;
  while (!ended_.empty() && ended_.front().lanes == lanes_.size()) {
    if (summary_.iteration_ended(0, summed_++, ended_.front().samples)) {
      summary_.count_from(engine_->network(), engine_->now(), moved());
    }
    ended_.pop_front();
  }
}

void TrainingRun::end_iteration(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  sum_up(number);
  count_repeats(lane);
  lane.workers.trace(std::nullopt);
  lane.step = 0;
  // Independent workers that are through keep the others' network busy until the last one is.
  const bool through = ++lane.iteration == iterations();
  if (through && (--lanes_running_ == 0 || !independent_)) return;
  double first = lane.workers.samples().front().end;
  for (const auto& sample : lane.workers.samples()) first = std::min(first, sample.end);
  engine_->at(Seconds{std::max(now(), first)}, [this, number] {
    if (lanes_running_ == 0) return;
    begin_iteration(number);
    pump();
  });
}

}  // namespace gradwire
