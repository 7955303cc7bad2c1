#include "sim/train/training_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace gradwire {
namespace {

/// Host time of the call that launches a kernel, for what strategies post: median of 4 350
/// cudaLaunchKernel calls in the V100 trace behind profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml;
/// that other hosts take as long is assumed. The model's own kernels take the profile's
/// host_launch, which has the framework's way to the call in it.
constexpr double launch_call = 5.2e-6;  // s

}  // namespace

void TrainingRun::tell(const Event& event) {
  for (auto& operation : strategy_->on_event(engine_->now(), event)) {
    std::visit([this](auto& op) { post(std::move(op)); }, operation);
  }
}

OperationId TrainingRun::add(const std::string& label) {
  return log_.add(job_.record_spans ? label : std::string());
}

void TrainingRun::post_item(WorkerLane& lane, ComputeItem item, std::string name) {
  item.launched = lane.host;
  lane.workers.post(item, std::move(name), other_seconds_);
}

double TrainingRun::price_on_all(const DeviceWork& work) {
  other_seconds_.clear();
  for (int c = 1; c < class_count(job_); ++c) {
    other_seconds_.push_back(price(work, gpu_of(job_, c)));
  }
  return price(work, job_.gpu);
}

void TrainingRun::post(const DeviceWork& work) {
  WorkerLane& lane = lane_of(work.worker);
  const bool copy = work.kind == WorkKind::copy;
  const Part part = copy ? Part::copies : Part::encode_decode;
  const double seconds = price_on_all(work);
  if (!copy) summary_.coded(part, seconds, work.estimate);
  if (work.stream == DeviceStream::side) {
    post_side(add(work.label), part, seconds, work);
    return;
  }
  lane.host += work.kernels * launch_call;
  const char* kind = copy ? "copy" : "encode";
  if (work.kernels > 0 || seconds > 0) {
    post_item(lane,
              {.part = part,
               .seconds = seconds,
               .slowdown = stated_slowdown(job_.profile, kind),
               .bound = bound_of(kind)},
              work.label);
  }
  if (work.notify) {
    lane.workers.post_mark(add(work.label));
    lane.dirty = true;
  } else {
    add_ended();
  }
}

void TrainingRun::post_side(OperationId id, Part part, double seconds, const DeviceWork& work) {
  double& free = lane_of(work.worker).side_free;
  const double start = std::max(now(), free);
  free = start + seconds;
  engine_->at(Seconds{start}, [this, id, part, seconds, work, others = other_seconds_] {
    WorkerLane& lane = lane_of(work.worker);
    lane.workers.run(now());
    const double end = lane.workers.occupy(part, now(), seconds, others, work.label);
    lane.dirty = true;
    lane.side_free = std::max(lane.side_free, end);
    engine_->at(Seconds{end}, [this, id] {
      done(id);
      pump();
    });
    pump();
  });
}

void TrainingRun::post(OptimizerStep step) {
  WorkerLane& lane = lane_of(step.worker);
  lane.host += std::max(launch_call, step.share * job_.profile.launch_of_optimizer().count());
  other_seconds_.clear();
  for (int c = 1; c < class_count(job_); ++c) {
    other_seconds_.push_back(optimizer_item(profile_of(job_, c), step.share).seconds);
  }
  post_item(lane, optimizer_item(job_.profile, step.share), std::move(step.label));
  add_ended();
}

void TrainingRun::post(Collective collective) {
  const OperationId id = add(collective.label);
  const Plans::Choice* choice = choice_of(collective);
  summary_.collective_posted(lanes_.front().iteration,
                             choice == nullptr ? std::nullopt : std::optional(choice->pattern),
                             collective.size);
  if (choice != nullptr) summary_.chosen(collective.kind, collective.size, choice->cost);
  if (collective.ready == Collective::Ready::behind_compute) {
    WorkerLane& lane = lanes_.front();
    lane.host += launch_call;
    lane.dirty = true;
    CommunicationItem item{
        .collective = std::move(collective), .operation = id, .launched = lane.host};
    if (choice != nullptr) {
      item.waiting = waiting_load(choice->cost.kernel);
      item.moving = moving_load(choice->cost);
    }
    position_[id] = lane.workers.post(std::move(item));
    return;
  }
  if (choice == nullptr) {
    end_now(id);
    return;
  }
  auto& stream = streams_[collective.stream];
  stream.push_back({.id = id,
                    .pattern = choice->pattern,
                    .cost = choice->cost,
                    .size = collective.size,
                    .tensors = std::move(collective.tensors),
                    .label = std::move(collective.label),
                    .stream = collective.stream});
  if (stream.size() == 1) start(stream.front());
}

double TrainingRun::stretch_of(int exchange) const {
  if (worker_of_exchange_.empty()) return 1;
  const WorkerId worker = worker_of_exchange_[static_cast<std::size_t>(exchange)];
  return messages_.stretch(lanes_[static_cast<std::size_t>(worker)].iteration, exchange);
}

void TrainingRun::post(Messages messages) {
  const OperationId id = add(messages.label);
  const PatternId pattern = plans_.exchange(messages.exchange);
  const CollectiveCost& cost = plans_.exchange_cost(messages.exchange);
  summary_.collective_posted(lanes_.front().iteration, pattern, messages.size);
  start({.id = id,
         .pattern = pattern,
         .cost = cost,
         .size = messages.size,
         .tensors = std::move(messages.tensors),
         .label = std::move(messages.label),
         .stretch = stretch_of(messages.exchange)});
}

void TrainingRun::post(HostWork work) {
  const OperationId id = add(work.label);
  const double seconds = work.time.count();
  summary_.coded(Part::host, seconds, work.estimate);
  double start = now();
  if (work.thread == HostWork::launcher) {
    WorkerLane& lane = lane_of(work.worker);
    // Relative to the rank's own start, as all its times: not to that of the first rank, which
    // may have waited long for this event.
    start = std::max(start, lane.base + lane.host);
    lane.host += seconds;
  } else if (work.thread != HostWork::no_thread) {
    double& free = threads_[work.thread];
    start = std::max(start, free);
    free = start + seconds;
  }
  log_.working.begin(start);
  engine_->at(Seconds{start + seconds}, [this, id, start, label = std::move(work.label)] {
    log_.working.end(start, now());
    lanes_[traced_lane()].workers.span("host", label, start, now());
    done(id);
    pump();
  });
}

void TrainingRun::post(Gate gate) {
  add_ended();
  lane_of(gate.worker).workers.post_gate(std::move(gate.until));
}

void TrainingRun::post(const Flag& flag) {
  add(flag.label);
}

void TrainingRun::post(const Raise& raise) {
  add_ended();
  log_.end(raise.flag, now());
  changed(raise.flag);
}

const Plans::Choice* TrainingRun::choice_of(const Collective& collective) {
  bool is_new = false;
  const Plans::Choice* choice =
      plans_.choose({collective.kind, collective.communicator, collective.part, collective.root},
                    collective.size, is_new);
  if (is_new) summary_.priced(choice->cost);
  return choice;
}

}  // namespace gradwire
