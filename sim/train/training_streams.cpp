#include "sim/train/training_run.hpp"

#include <algorithm>

namespace gradwire {

void TrainingRun::pump() {
  for (auto next = dirty_.first_from(0); next;) {
    const std::size_t lane = *next;
    dirty_.erase(lane);
    progress(lane);
    next = dirty_.first_from(lane + 1);
    if (!next) next = dirty_.first_from(0);
  }
}

void TrainingRun::progress(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  lane.workers.run(now());
  while (const auto mark = lane.workers.take_passed()) done(*mark);
  while (const auto position = lane.workers.take_ready()) {
    const double start = std::max(now(), lane.workers.collective(*position).start);
    engine_->at(Seconds{start}, [this, number, at = *position] {
      start_collective(number, at);
      pump();
    });
  }
  if (lane.step == instance_of(lane).scripts.front().size() && lane.workers.iteration_ended()) {
    end_iteration(number);
  } else if (dynamic_ && !dirty_.contains(number)) {
    look_again(number);
  }
}

void TrainingRun::look_again(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  const double when = lane.workers.next_time();
  if (when == std::numeric_limits<double>::infinity()) {
    wait_for_gate(number);
    return;
  }
  if (when == lane.wake || when <= now()) return;
  lane.wake = when;
  engine_->at(Seconds{when}, [this, number, when] {
    WorkerLane& woken = lanes_[number];
    if (woken.wake != when) return;
    woken.wake = std::numeric_limits<double>::infinity();
    dirty_.insert(number);
    pump();
  });
}

void TrainingRun::wait_for_gate(std::size_t number) {
  WorkerLane& lane = lanes_[number];
  const auto blocking = lane.workers.blocked_on();
  if (!blocking || lane.waits_for == blocking) return;
  lane.waits_for = blocking;
  waiters_[*blocking].push_back(number);
}

void TrainingRun::start_collective(std::size_t number, std::size_t position) {
  WorkerLane& lane = lanes_[number];
  const auto& item = lane.workers.collective(position);
  const Plans::Choice* choice =
      choice_of(lane.instance, use_of(item.collective), item.collective.size);
  if (choice == nullptr) {
    collective_done(item.operation);
    return;
  }
  lane.workers.begin_moving(position);
  if (repeats_) {
    const auto bytes = static_cast<double>(item.collective.size.count());
    repeats_->began(item.operation, choice->pattern, bytes, now());
  }
  engine_->network().start(item.operation, choice->pattern, item.collective.size, choice->cost);
}

void TrainingRun::collective_done(OperationId id) {
  const auto [number, position] = posted_.extract(id).mapped();
  WorkerLane& lane = lanes_[number];
  lane.workers.finish(position, now());
  note_ended(id);
  dirty_.insert(lane.number);
  tell(instance_of(lane), OperationDone{log_.owner(id).id});
}

}  // namespace gradwire
