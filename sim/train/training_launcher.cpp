#include "sim/train/training_run.hpp"

#include <algorithm>

namespace gradwire {

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
  if (traced(number)) lane.workers.trace(lanes_.size() > 1 ? 0 : summary_.slowest_member());
  lane.workers.begin_iteration(lane.draws);
  lane.base = lane.workers.first_start();
  lane.host = 0;
  lane.step = 0;
  lane.hooked = false;
  lane.dirty = true;
  tell(IterationStart{phases_.first + lane.iteration, static_cast<WorkerId>(number)});
  launch(number);
}

void TrainingRun::forget_past() {
  double when = now();
  for (const WorkerLane& lane : lanes_) when = std::min(when, lane.workers.earliest());
  log_.forget_until(when);
}

void TrainingRun::launch(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  const auto worker = static_cast<WorkerId>(number);
  const auto& script = scripts_.front();
  while (lane.step < script.size()) {
    const LaunchStep& step = script[lane.step];
    if (!lane.hooked && has_pre_hook(step)) {
      lane.hooked = true;
      at_launcher(number, [this, worker, &step] {
        if (step.item.part == Part::forward) {
          tell(ForwardStart{step.item.layer, step.micro_batch, worker});
        } else {
          tell(BackwardStart{step.item.layer, step.micro_batch, worker});
        }
      });
      return;
    }
    lane.hooked = false;
    other_seconds_.clear();
    for (std::size_t c = 1; c < scripts_.size(); ++c) {
      other_seconds_.push_back(scripts_[c][lane.step].item.seconds);
    }
    ++lane.step;
    if (step.host > 0 && traced(number)) {
      lane.workers.span("host", "launch " + step.name, lane.base + lane.host,
                        lane.base + lane.host + step.host);
    }
    lane.host += step.host;
    post_item(lane, step.item, step.name);
    if (step.hooks.empty() && !step.backward_done) continue;
    at_launcher(number, [this, worker, &step] {
      for (const TensorId tensor : step.hooks) {
        tell(HookFired{tensor, step.micro_batch, worker});
      }
      if (step.backward_done) tell(BackwardDone{step.micro_batch, worker});
    });
    return;
  }
  lane.dirty = true;
}

bool TrainingRun::has_pre_hook(const LaunchStep& step) const {
  return (traits_.forward_hooks && step.item.part == Part::forward) ||
         (traits_.backward_hooks && step.item.part == Part::backward);
}

void TrainingRun::end_iteration(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  if (summary_.iteration_ended(number, lane.iteration, lane.workers.samples())) {
    summary_.count_from(engine_->network(), engine_->now(), log_.moving.total());
  }
  lane.workers.trace(std::nullopt);
  lane.step = 0;
  if (++lane.iteration == iterations() && --lanes_running_ == 0) return;
  double first = lane.workers.samples().front().end;
  for (const auto& sample : lane.workers.samples()) first = std::min(first, sample.end);
  engine_->at(Seconds{std::max(now(), first)}, [this, number] {
    // Workers that are through keep the others' network busy until the last one is.
    if (lanes_running_ == 0) return;
    begin_iteration(number);
    pump();
  });
}

}  // namespace gradwire
