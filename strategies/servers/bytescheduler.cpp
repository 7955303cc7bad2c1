#include "strategies/servers/bytescheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/parts/conditional_knobs.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Parts of a tensor lie this far apart in priority: bytetask.py, max_partition.
constexpr std::int64_t parts_max = 1000;
/// Host threads above those of Horovod and of the store's servers.
constexpr int first_poller_thread = 1 << 20;
constexpr std::int64_t elements_limit = std::int64_t{1} << 40;
/// Times of Python that no source states: the start of a part, the poller's optimizer for a
/// parameter.
constexpr Seconds assumed_task_time{50e-6};
constexpr Seconds assumed_update_time{100e-6};
/// A turn of the poller's queue, and a comparison of names in its search for a parameter: our
/// measurement (2026-11-29) of pytorch/horovod.py's _poll and _sgd by CPython 3.11 on an AMD EPYC,
/// with 300 parameters, CUDA and collectives replaced by nothing.
constexpr Seconds measured_poll_time{1.1e-6};
constexpr Seconds measured_compare_time{0.7e-6};
/// The poller turns without ever waiting, so another thread has the interpreter when CPython takes
/// it away: after its switch interval of 5 ms (sys.getswitchinterval), of which half is left on
/// average.
constexpr Seconds half_switch_interval{2.5e-3};

}  // namespace

std::vector<std::int64_t> parts_of_rows(const TensorInfo& tensor, std::int64_t partition) {
  const std::int64_t rows = tensor.shape.empty() ? tensor.elements : tensor.shape.front();
  const std::int64_t wanted = (tensor.elements + partition - 1) / partition;
  const std::int64_t number = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(rows, 1));
  const std::int64_t row = rows > 0 ? tensor.elements / rows : 0;
  std::vector<std::int64_t> parts;
  for (std::int64_t part = 0; part < number; ++part) {
    // The rows that are over go to the last parts.
    const bool longer = part >= number - rows % number;
    parts.push_back((rows / number + (longer ? 1 : 0)) * row);
  }
  return parts;
}

StrategyMaker ByteScheduler::read(Knobs& knobs) {
  static const std::vector<std::string> modes = {"allreduce", "ps"};
  ByteSchedulerOptions options;
  options.mode = knobs.choice("mode", options.mode, modes,
                              "PyTorch over Horovod, or MXNet with parameter servers");
  options.partition = knobs.count("partition", options.partition, 1, elements_limit,
                                  "BYTESCHEDULER_PARTITION, bytecore.py: parameters");
  options.credit = knobs.count("credit", options.credit, 1, elements_limit,
                               "BYTESCHEDULER_CREDIT, bytecore.py: parameters");
  options.task_time = assumed_task_time;
  options.poll_time = measured_poll_time;
  options.update_time = assumed_update_time;
  options.compare_time = measured_compare_time;
  ConditionalKnobs horovods(knobs);
  options.gil_wait =
      horovods.time("gil_wait", half_switch_interval,
                    "half of CPython's switch interval: the launcher's wait for the interpreter, "
                    "per hook and layer, while the poller turns");
  options.horovod = read_horovod(horovods, horovod_of_2020);
  ConditionalKnobs stores(knobs);
  options.store = read_kv_store(stores);
  if (options.mode == "ps") {
    horovods.refuse_without("mode: allreduce");
  } else {
    stores.refuse_without("mode: ps");
  }
  return [options](const JobView& job) { return std::make_unique<ByteScheduler>(options, job); };
}

ByteScheduler::ByteScheduler(const ByteSchedulerOptions& options, const JobView& job)
    : LayerwiseStrategy(job),
      options_(options),
      parts_of_(job.tensors.size()),
      credit_(options.credit) {
  for (std::size_t id = 0; id < job_.tensors.size(); ++id) {
    int index = 0;
    for (const std::int64_t elements : parts_of_rows(job_.tensors[id], options_.partition)) {
      parts_of_[id].push_back(parts_.size());
      parts_.push_back({static_cast<TensorId>(id), index++, elements});
    }
  }
  if (all_reduces()) {
    horovod_.emplace(options_.horovod, job);
  } else {
    store_ = std::make_unique<KvStore>(poster_, options_.store, job, true);
  }
}

std::vector<CollectiveUse> ByteScheduler::collectives() const {
  return all_reduces() ? horovod_->collectives() : store_->collectives();
}

std::vector<Exchange> ByteScheduler::exchanges() const {
  return visited_exchanges(*this);
}

void ByteScheduler::visit_exchanges(const ExchangeVisit& visit) const {
  if (!all_reduces()) return store_->visit_exchanges(visit);
  std::ranges::for_each(horovod_->exchanges(), visit);
}

void ByteScheduler::ended(OperationId operation) {
  poster_.done(operation);
  if (!all_reduces()) return;
  for (const auto& request : horovod_->on_done(now_, operation, poster_)) {
    const Move move = under_way_.extract(request.name).mapped();
    notice([this, move] {
      --watched_;
      return_credit(parts_[move.part].elements);
      finished(move);
      schedule();
    });
  }
}

void ByteScheduler::launcher_waits(Seconds time) {
  if (watched_ > 0) time += options_.gil_wait;
  if (time > Seconds{}) poster_.post(HostWork{HostWork::launcher, time, "Python"});
}

void ByteScheduler::gradient(TensorId tensor, WorkerId worker) {
  if (all_reduces()) launcher_waits(options_.horovod.hook_time);
  watched_ += static_cast<std::int64_t>(parts_of_[static_cast<std::size_t>(tensor)].size());
  LayerwiseStrategy::gradient(tensor, worker);
}

void ByteScheduler::forward(int layer, WorkerId worker) {
  if (all_reduces()) launcher_waits(Seconds{});
  LayerwiseStrategy::forward(layer, worker);
}

void ByteScheduler::exchange(TensorId tensor, OperationId flag) {
  const std::size_t parts = parts_of_[static_cast<std::size_t>(tensor)].size();
  const auto flight = std::make_shared<Flight>(Flight{.missing = parts, .flag = flag});
  notice([this, tensor, flight] { ready(tensor, flight); });
}

void ByteScheduler::notice(Poster::Then then) {
  // MXNet's engine calls back. The poller takes one event after the other and puts those that have
  // not happened back to the end: half a round of them goes by on the average.
  const Seconds lag =
      all_reduces() ? 0.5 * static_cast<double>(watched_) * options_.poll_time : Seconds{};
  if (lag == Seconds{}) {
    then();
  } else {
    poster_.post(HostWork{HostWork::no_thread, lag, "poll"}, std::move(then));
  }
}

void ByteScheduler::ready(TensorId tensor, const std::shared_ptr<Flight>& flight) {
  for (const std::size_t index : parts_of_[static_cast<std::size_t>(tensor)]) {
    --watched_;
    const std::int64_t priority = tensor * parts_max + parts_[index].index;
    ready_.emplace(std::pair{priority, posted_++}, Move{index, flight});
  }
  schedule();
}

void ByteScheduler::schedule() {
  while (!ready_.empty() && credit_ > 0) {
    const Move move = ready_.extract(ready_.begin()).mapped();
    credit_ -= parts_[move.part].elements;
    poster_.post(HostWork{first_poller_thread, options_.task_time, "start part"},
                 [this, move] { start(move); });
  }
}

void ByteScheduler::start(const Move& move) {
  if (!all_reduces()) {
    poster_.post(HostWork{HostWork::no_thread, 2 * job_.message_latency, "barrier key"},
                 [this, move] { push_pull(move); });
    return;
  }
  ++watched_;
  const Part& part = parts_[move.part];
  const auto name = static_cast<RequestName>(move.part);
  under_way_.insert_or_assign(name, move);
  HorovodRequest request;
  request.name = name;
  request.size = job_.size_of(part.elements);
  request.tensors = {part.tensor};
  request.ready = true;  // ByteScheduler's patch of Horovod
  horovod_->submit(now_, {request}, poster_);
}

void ByteScheduler::push_pull(const Move& move) {
  const Part& part = parts_[move.part];
  const LaneItem item{.size = job_.size_of(part.elements),
                      .tensors = {part.tensor},
                      .label = fmt::format("{} part {}", job_.tensor(part.tensor).name, part.index),
                      .key = move.part};
  store_->push_pull_key(item, {.pushed =
                                   [this, elements = part.elements] {
                                     return_credit(elements);
                                     schedule();
                                   },
                               .pulled = [this, move] { finished(move); }});
}

void ByteScheduler::return_credit(std::int64_t elements) {
  credit_ = std::min(credit_ + elements, options_.credit);
}

void ByteScheduler::finished(const Move& move) {
  Flight& flight = *move.flight;
  if (--flight.missing > 0) return;
  if (!all_reduces()) {
    poster_.post(Raise{flight.flag});
    return;
  }
  const double compared = parts_[move.part].tensor + 1;
  poster_.post(HostWork{first_poller_thread,
                        options_.update_time + compared * options_.compare_time, "update"},
               [this, flag = flight.flag] { poster_.post(Raise{flag}); });
}

std::vector<PlanGroup> ByteScheduler::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const auto& parts = parts_of_[static_cast<std::size_t>(id)];
    for (const std::size_t index : parts) {
      const Part& part = parts_[index];
      std::string note = fmt::format("priority {}", id * parts_max + part.index);
      if (parts.size() > 1) note += fmt::format(", part {} of {}", part.index + 1, parts.size());
      groups.push_back({{id}, part.elements, job_.size_of(part.elements), std::move(note)});
    }
  }
  return groups;
}

}  // namespace gradwire
