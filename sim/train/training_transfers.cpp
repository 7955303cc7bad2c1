#include "sim/train/training_run.hpp"

#include <cmath>
#include <utility>

namespace gradwire {

void TrainingRun::start(MovingData transfer) {
  transfer.start = now();
  log_.moving.begin(now());
  log_.working.begin(now());
  if (transfer.stream > 0 && job_.library.on_gpu()) {
    Workers& workers = lanes_.front().workers;
    workers.run(now());
    workers.kernel_begins(moving_load(transfer.cost));
    lanes_.front().dirty = true;
  }
  const Bytes moved{static_cast<std::int64_t>(
      std::ceil(transfer.stretch * static_cast<double>(transfer.size.count())))};
  engine_->network().start(transfer.id, transfer.pattern, moved, transfer.cost);
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
  log_.moving.end(transfer.start, now());
  log_.working.end(transfer.start, now());
  lanes_[traced_lane()].workers.span("communication", transfer.label, transfer.start, now(),
                                     transfer.size, transfer.tensors);
  if (transfer.stream > 0) {
    Workers& workers = lanes_.front().workers;
    workers.run(now());
    if (job_.library.on_gpu()) workers.kernel_ends(moving_load(transfer.cost));
    lanes_.front().dirty = true;
    auto& stream = streams_[transfer.stream];
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
  log_.end(id, now());
  changed(id);
  tell(OperationDone{id});
}

void TrainingRun::changed(OperationId id) {
  if (!traits_.dynamic) {
    lanes_.front().dirty = true;
    return;
  }
  const auto waiting = waiters_.find(id);
  if (waiting == waiters_.end()) return;
  for (const std::size_t lane : waiting->second) lanes_[lane].dirty = true;
  waiters_.erase(waiting);
}

}  // namespace gradwire
