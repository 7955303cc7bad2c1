#include "sim/train/training_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "sim/train/run_clock.hpp"

namespace gradwire {
void TrainingRun::tell(In& in, const Event& event) {
  for (auto& operation : in.strategy->on_event(Seconds{now() - run_begins}, event)) {
    std::visit([this, &in](auto& op) { post(in, std::move(op)); }, operation);
  }
}

OperationId TrainingRun::add(In& in, const std::string& label, int queue) {
  const OperationId id = log_.add(job_.record_spans ? label : std::string(),
                                  {static_cast<int>(index_of(in)), in.ids.next()});
  in.ids.push_back(id);
  note_posted(id, queue);
  return id;
}

void TrainingRun::post_item(WorkerLane& lane, ComputeItem item, std::string name) {
  item.launched = lane.host;
  lane.workers.post(item, std::move(name), other_seconds_);
}

double TrainingRun::price_on_all(const In& in, const DeviceWork& work) {
  other_seconds_.clear();
  for (int c = 1; c < class_count(in.job); ++c) {
    other_seconds_.push_back(price(work, gpu_of(in.job, c)));
  }
  return price(work, in.job.gpu);
}

void TrainingRun::post(In& in, const DeviceWork& work) {
  WorkerLane& lane = lane_of(in, work.worker);
  const bool copy = work.kind == WorkKind::copy;
  const Part part = copy ? Part::copies : Part::encode_decode;
  const double seconds = price_on_all(in, work);
  if (!copy) summary_.coded(part, seconds, work.estimate);
  if (work.stream == DeviceStream::side) {
    post_side(in, add(in, work.label), part, seconds, work);
    return;
  }
  lane.host += work.kernels * launch_call;
  const char* kind = copy ? "copy" : "encode";
  if (work.kernels > 0 || seconds > 0) {
    post_item(lane,
              {.part = part,
               .seconds = seconds,
               .slowdown = stated_slowdown(in.job.profile, kind),
               .bound = bound_of(kind)},
              work.label);
  }
  if (work.notify) {
    lane.workers.post_mark(add(in, work.label));
    dirty_.insert(lane.number);
  } else {
    add_ended(in);
  }
}

void TrainingRun::post_side(In& in, OperationId id, Part part, double seconds,
                            const DeviceWork& work) {
  double& free = lane_of(in, work.worker).side_free;
  const double start = std::max(now(), free);
  free = start + seconds;
  engine_->at(Seconds{start}, [this, &in, id, part, seconds, work, others = other_seconds_] {
    WorkerLane& lane = lane_of(in, work.worker);
    lane.workers.run(now());
    const double end = lane.workers.occupy(part, now(), seconds, others, work.label);
    dirty_.insert(lane.number);
    lane.side_free = std::max(lane.side_free, end);
    engine_->at(Seconds{end}, [this, id] {
      done(id);
      pump();
    });
    pump();
  });
}

void TrainingRun::post(In& in, OptimizerStep step) {
  WorkerLane& lane = lane_of(in, step.worker);
  const ComputeProfile& profile = in.job.profile;
  const auto post_each = [&](ComputeItem (*item_of)(const ComputeProfile&, double),
                             std::string label) {
    other_seconds_.clear();
    for (int c = 1; c < class_count(in.job); ++c) {
      other_seconds_.push_back(item_of(profile_of(in.job, c), step.share).seconds);
    }
    post_item(lane, item_of(profile, step.share), std::move(label));
  };
  if (profile.unscale) {
    post_each(unscale_item, "unscale gradients");
    post_each(late_launch_item, step.label);
  } else {
    lane.host += std::max(launch_call, step.share * profile.launch_of_optimizer().count());
  }
  post_each(optimizer_item, std::move(step.label));
  add_ended(in);
}

void TrainingRun::post(In& in, Collective collective) {
  const OperationId id = add(in, collective.label);
  WorkerLane& lane = lane_of(in);
  const Plans::Choice* choice = choose_posted(in, use_of(collective), collective.size);
  if (collective.ready == Collective::Ready::behind_compute) {
    lane.host += launch_call;
    dirty_.insert(lane.number);
    CommunicationItem item{
        .collective = std::move(collective), .operation = id, .launched = lane.host};
    if (choice != nullptr) {
      item.waiting = waiting_load(choice->cost.kernel);
      item.moving = moving_load(choice->cost);
    }
    posted_[id] = {number_of(in), lane.workers.post(std::move(item))};
    return;
  }
  if (choice == nullptr) {
    end_now(id);
    return;
  }
  queue({.id = id,
         .pattern = choice->pattern,
         .cost = &choice->cost,
         .size = collective.size,
         .tensors = std::move(collective.tensors),
         .label = std::move(collective.label),
         .ends = {index_of(in), index_of(in)},
         .stream = collective.stream,
         .kernel = job_.library.on_gpu()});
}

double TrainingRun::stretch_of(const In& in, int exchange) const {
  if (in.worker_of_exchange.empty()) return 1;
  const WorkerId worker = in.worker_of_exchange[static_cast<std::size_t>(exchange)];
  return messages_.stretch(lanes_[number_of(in, worker)].iteration, exchange);
}

void TrainingRun::post(In& in, Messages messages) {
  const OperationId id = add(in, messages.label);
  const PatternId pattern = plans_.exchange(index_of(in), messages.exchange);
  const CollectiveCost& cost = plans_.exchange_cost(pattern);
  summary_.collective_posted(lane_of(in).iteration, pattern, messages.size);
  start({.id = id,
         .pattern = pattern,
         .cost = &cost,
         .size = messages.size,
         .tensors = std::move(messages.tensors),
         .label = std::move(messages.label),
         .ends = {index_of(in), index_of(in)},
         .stretch = stretch_of(in, messages.exchange)});
}

void TrainingRun::post(In& in, const HostWork& work) {
  const OperationId id = add(in, work.label, std::max(0, work.thread + 1));
  const double seconds = work.time.count();
  summary_.coded(Part::host, seconds, work.estimate);
  double start = now();
  if (work.thread == HostWork::launcher) {
    WorkerLane& lane = lane_of(in, work.worker);
    // Relative to the rank's own start, as all its times: not to that of the first rank, which
    // may have waited long for this event.
    start = std::max(start, lane.base + lane.host);
    lane.host += seconds;
  } else if (work.thread != HostWork::no_thread) {
    start = in.take_thread(work.thread, start, seconds);
  }
  double end = start + seconds;
  if (work.beside) {
    const double beside = work.beside->time.count();
    summary_.coded(Part::host, beside, work.estimate);
    const double other = in.take_thread(work.beside->thread, now(), beside);
    end = std::max(end, other + beside);
    // Each thread is at work from now on: on this, or on what it was given before.
    start = std::min(start, other);
  }
  in.activity.working.begin(start);
  engine_->at(Seconds{end}, [this, &in, id, start] {
    in.activity.working.end(start, now());
    if (job_.record_spans) span(index_of(in), "host", log_.label(id), start);
    done(id);
    pump();
  });
}

void TrainingRun::post(In& in, Gate gate) {
  add_ended(in);
  for (OperationId& id : gate.until) id = in.ids[id];
  lane_of(in, gate.worker).workers.post_gate(std::move(gate.until));
}

void TrainingRun::post(In& in, const Flag& flag) {
  add(in, flag.label);
}

void TrainingRun::post(In& in, const Raise& raise) {
  add_ended(in);
  const OperationId flag = in.ids[raise.flag];
  log_.end(flag, now());
  note_ended(flag);
  changed(flag);
}

const Plans::Choice* TrainingRun::choose_posted(const In& in, const CollectiveUse& use,
                                                Bytes size) {
  const Plans::Choice* choice = choice_of(index_of(in), use, size);
  summary_.collective_posted(lanes_[number_of(in)].iteration,
                             choice == nullptr ? std::nullopt : std::optional(choice->pattern),
                             size);
  if (choice != nullptr) summary_.chosen(use.kind, size, choice->cost);
  return choice;
}

const Plans::Choice* TrainingRun::choice_of(std::size_t instance, const CollectiveUse& use,
                                            Bytes size) {
  bool is_new = false;
  const Plans::Choice* choice = plans_.choose(instance, use, size, is_new);
  if (is_new) summary_.priced(choice->cost);
  return choice;
}

}  // namespace gradwire
