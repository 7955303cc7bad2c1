#include "sim/train/training_run.hpp"

#include <cmath>
#include <span>
#include <utility>

namespace gradwire {
namespace {

/// The instances at whose ranks it begins and ends, each once.
std::span<const std::size_t> ends_of(const MovingData& transfer) {
  return std::span(transfer.ends).first(transfer.ends[0] == transfer.ends[1] ? 1 : 2);
}

}  // namespace

void TrainingRun::queue(MovingData transfer) {
  auto& stream = instances_[transfer.ends[0]].streams[transfer.stream];
  stream.push_back(std::move(transfer));
  if (stream.size() == 1) start(stream.front());
}

void TrainingRun::start(MovingData transfer) {
  transfer.start = now();
  for (const std::size_t i : ends_of(transfer)) {
    instances_[i].activity.moving.begin(now());
    instances_[i].activity.working.begin(now());
  }
  if (transfer.kernel) {
    WorkerLane& lane = lane_of(instances_[transfer.ends[0]]);
    lane.workers.run(now());
    lane.workers.kernel_begins(moving_load(*transfer.cost));
    dirty_.insert(lane.number);
  }
  const Bytes moved{static_cast<std::int64_t>(
      std::ceil(transfer.stretch * static_cast<double>(transfer.size.count())))};
  if (repeats_)
    repeats_->began(transfer.id, transfer.pattern, static_cast<double>(moved.count()), now());
  engine_->network().start(transfer.id, transfer.pattern, moved, *transfer.cost);
  in_flight_.emplace(transfer.id, std::move(transfer));
}

void TrainingRun::transfer_done(TransferId id) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) {
    collective_done(id);
    return;
  }
  const MovingData transfer = std::move(found->second);
  in_flight_.erase(found);
  for (const std::size_t i : ends_of(transfer)) {
    instances_[i].activity.moving.end(transfer.start, now());
    instances_[i].activity.working.end(transfer.start, now());
    span(i, "communication", transfer.label, transfer.start, transfer.size, transfer.tensors);
  }
  if (transfer.stream != MovingData::no_stream) {
    In& in = instances_[transfer.ends[0]];
    WorkerLane& lane = lane_of(in);
    lane.workers.run(now());
    if (transfer.kernel) lane.workers.kernel_ends(moving_load(*transfer.cost));
    dirty_.insert(lane.number);
    auto& stream = in.streams[transfer.stream];
    stream.pop_front();
    if (!stream.empty()) start(stream.front());
  }
  done(id);
}

void TrainingRun::end_now(OperationId id) {
  engine_->at(engine_->now(), [this, id] {
    done(id);
    pump();
  });
}

void TrainingRun::done(OperationId id) {
  const OperationOwner owner = log_.owner(id);
  log_.end(id, now());
  note_ended(id);
  changed(id);
  if (owner.instance >= 0) {
    tell(instances_[static_cast<std::size_t>(owner.instance)], OperationDone{owner.id});
  } else {
    arrived(id);
  }
}

void TrainingRun::changed(OperationId id) {
  if (!dynamic_) {
    for (const WorkerLane& lane : lanes_) dirty_.insert(lane.number);
    return;
  }
  const auto waiting = waiters_.find(id);
  if (waiting == waiters_.end()) return;
  for (const std::size_t lane : waiting->second) dirty_.insert(lane);
  waiters_.erase(waiting);
}

}  // namespace gradwire
