#include "sim/train/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/launcher.hpp"
#include "sim/train/operation_log.hpp"
#include "sim/train/plans.hpp"
#include "sim/train/summary.hpp"
#include "sim/train/thinning.hpp"
#include "sim/train/workers.hpp"

namespace gradwire {
namespace {

/// Host time to launch one kernel: median of 4 350 cudaLaunchKernel calls in the V100 trace behind
/// profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml.
constexpr double kernel_launch = 5.2e-6;  // s

constexpr double never = std::numeric_limits<double>::infinity();

std::span<const int> classes_of(const Job& job) {
  return job.classes == nullptr ? std::span<const int>() : job.classes->of_rank;
}

EngineOptions engine_options(const Job& job, const Traits& traits) {
  EngineOptions options = job.engine;
  options.one_at_a_time = !traits.dynamic && job.library.concurrent_collectives() == 1;
  return options;
}

/// A class of workers: the clocks of its ranks and its launcher thread.
struct Lane {
  Workers workers;
  IterationDraws draws;
  int iteration = 0;
  std::size_t step = 0;                    ///< of the launch script
  bool hooked = false;                     ///< the pre-hook of that step has run
  double base = 0;                         ///< start of the iteration on the first rank
  double host = 0;                         ///< launcher time since then
  double wake = never;                     ///< when the engine will look at it again
  double side_free = 0;                    ///< when its side stream is
  bool dirty = false;                      ///< something has changed that may let it run on
  std::optional<OperationId> waits_for{};  ///< of a gate, where it is noted among the waiters
};

/// What moves by itself: a collective ready at once, or messages.
struct Transfer {
  OperationId id = 0;
  PatternId pattern = 0;
  CollectiveCost cost;
  Bytes size{0};
  std::vector<TensorId> tensors;
  std::string label;
  int stream = 0;  ///< > 0: of a collective
  double start = 0;
};

/// One run: the launcher threads, the strategy they tell, the ranks' streams and the engine.
class Training {
 public:
  Training(const Job& job, std::unique_ptr<Strategy> strategy, std::vector<MemberGroup> members)
      : job_(job),
        strategy_(std::move(strategy)),
        traits_(strategy_->traits()),
        plans_(job, *strategy_),
        engine_(make_engine(job.cluster, plans_.patterns(), engine_options(job, traits_))),
        members_(std::move(members)),
        summary_(job, members_, traits_.independent_workers) {
    for (int c = 0; c < class_count(job); ++c) {
      scripts_.push_back(
          launch_script(profile_of(job, c), job.micro_batches, !traits_.own_optimizer));
    }
    if (traits_.independent_workers) {
      for (const MemberGroup& member : members_) add_lane({member});
    } else {
      add_lane(members_);
    }
    lanes_running_ = lanes_.size();
  }

  RunResult run() {
    const auto begin = std::chrono::steady_clock::now();
    engine_->at(Seconds{0}, [this] {
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) begin_iteration(lane);
      pump();
    });
    engine_->run([this](TransferId id, Seconds /*now*/) {
      transfer_done(id);
      pump();
    });
    for (const Lane& lane : lanes_) {
      if (lane.iteration >= iterations()) continue;
      throw SimulationError(fmt::format("iteration {} never ends; waiting: {}", lane.iteration,
                                        lane.workers.waiting()));
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    RunResult result =
        summary_.result(engine_->network(), engine_->now(), log_.moving.total(), wall.count(),
                        std::move(lanes_[traced_lane()].workers.spans()));
    result.staleness = strategy_->staleness();
    return result;
  }

 private:
  [[nodiscard]] int iterations() const { return job_.run.warmup + job_.run.iterations; }
  [[nodiscard]] double now() const { return engine_->now().count(); }
  [[nodiscard]] std::size_t traced_lane() const {
    return lanes_.size() > 1 ? summary_.slowest_member() : 0;
  }
  [[nodiscard]] bool traced(std::size_t lane) const {
    return job_.record_spans && lane == traced_lane() && lanes_[lane].iteration == job_.run.warmup;
  }
  Lane& lane_of(WorkerId worker) { return lanes_[static_cast<std::size_t>(worker)]; }

  void add_lane(std::vector<MemberGroup> members) {
    const CommunicationStream stream{.on_gpu = job_.library.on_gpu(),
                                     .concurrent = job_.library.concurrent_collectives(),
                                     .run_ahead = !traits_.dynamic};
    lanes_.push_back({.workers = Workers(std::move(members), tensors_of(job_.profile), log_,
                                         class_count(job_), stream),
                      .draws = IterationDraws(job_.jitter, job_.profile, job_.run.seed)});
  }

  // ---- the launcher thread --------------------------------------------------------------------

  void begin_iteration(std::size_t number) {
    Lane& lane = lanes_[number];
    lane.draws.draw(lane.iteration, lane.workers.members());
    if (traced(number)) lane.workers.trace(lanes_.size() > 1 ? 0 : summary_.slowest_member());
    lane.workers.begin_iteration(lane.draws);
    lane.base = lane.workers.first_start();
    lane.host = 0;
    lane.step = 0;
    lane.hooked = false;
    lane.dirty = true;
    tell(IterationStart{lane.iteration, static_cast<WorkerId>(number)});
    launch(number);
  }

  /// Calls back when the launcher thread of a lane is there.
  template <class Action>
  void at_launcher(std::size_t number, Action action) {
    const Lane& lane = lanes_[number];
    engine_->at(Seconds{std::max(now(), lane.base + lane.host)}, [this, number, action] {
      action();
      launch(number);
      pump();
    });
  }

  /// Launches up to the next hook, then lets time pass to it.
  void launch(std::size_t number) {
    Lane& lane = lanes_[number];
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

  [[nodiscard]] bool has_pre_hook(const LaunchStep& step) const {
    return (traits_.forward_hooks && step.item.part == Part::forward) ||
           (traits_.backward_hooks && step.item.part == Part::backward);
  }

  // ---- the strategy's operations --------------------------------------------------------------

  void tell(const Event& event) {
    for (auto& operation : strategy_->on_event(engine_->now(), event)) {
      std::visit([this](auto& op) { post(std::move(op)); }, operation);
    }
  }

  OperationId add(const std::string& label) {
    return log_.add(job_.record_spans ? label : std::string());
  }
  /// An operation that asks for nothing that could still be waited for.
  void add_ended() { log_.end(log_.add(), now()); }

  void post_item(Lane& lane, ComputeItem item, std::string name) {
    item.launched = lane.host;
    lane.workers.post(item, std::move(name), other_seconds_);
  }

  /// Prices device work on the GPUs of class 0 and, in other_seconds_, of the others.
  double price_on_all(const DeviceWork& work) {
    other_seconds_.clear();
    for (int c = 1; c < class_count(job_); ++c) {
      other_seconds_.push_back(price(work, gpu_of(job_, c)));
    }
    return price(work, job_.gpu);
  }

  void post(const DeviceWork& work) {
    Lane& lane = lane_of(work.worker);
    const bool copy = work.kind == WorkKind::copy;
    const Part part = copy ? Part::copies : Part::encode_decode;
    const double seconds = price_on_all(work);
    if (work.stream == DeviceStream::side) {
      post_side(add(work.label), part, seconds, work);
      return;
    }
    lane.host += work.kernels * kernel_launch;
    const auto slowdown = job_.profile.overlap.find(copy ? "copy" : "encode");
    if (work.kernels > 0 || seconds > 0) {
      post_item(lane,
                {.part = part,
                 .seconds = seconds,
                 .slowdown = slowdown == job_.profile.overlap.end() ? 1 : slowdown->second},
                work.label);
    }
    if (work.notify) {
      lane.workers.post_mark(add(work.label));
      lane.dirty = true;
    } else {
      add_ended();
    }
  }

  /// Work of the side stream, which does one thing after the other.
  void post_side(OperationId id, Part part, double seconds, const DeviceWork& work) {
    double& free = lane_of(work.worker).side_free;
    const double start = std::max(now(), free);
    free = start + seconds;
    engine_->at(Seconds{start}, [this, id, part, seconds, work, others = other_seconds_] {
      Lane& lane = lane_of(work.worker);
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

  void post(OptimizerStep step) {
    Lane& lane = lane_of(step.worker);
    lane.host += kernel_launch;
    other_seconds_.clear();
    for (int c = 1; c < class_count(job_); ++c) {
      other_seconds_.push_back(optimizer_item(profile_of(job_, c), step.share).seconds);
    }
    post_item(lane, optimizer_item(job_.profile, step.share), std::move(step.label));
    add_ended();
  }

  void post(Collective collective) {
    const OperationId id = add(collective.label);
    const Plans::Choice* choice = choice_of(collective);
    summary_.collective_posted(
        lanes_.front().iteration,
        choice == nullptr ? 0 : plans_.pattern(choice->pattern).share_per_rank(), collective.size);
    if (collective.ready == Collective::Ready::behind_compute) {
      Lane& lane = lanes_.front();
      lane.host += kernel_launch;
      lane.dirty = true;
      position_[id] = lane.workers.post(CommunicationItem{
          .collective = std::move(collective), .operation = id, .launched = lane.host});
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

  void post(Messages messages) {
    const OperationId id = add(messages.label);
    const PatternId pattern = plans_.exchange(messages.exchange);
    const CollectiveCost& cost = plans_.exchange_cost(messages.exchange);
    summary_.collective_posted(lanes_.front().iteration, plans_.exchange_share(messages.exchange),
                               messages.size);
    start({.id = id,
           .pattern = pattern,
           .cost = cost,
           .size = messages.size,
           .tensors = std::move(messages.tensors),
           .label = std::move(messages.label)});
  }

  void post(HostWork work) {
    const OperationId id = add(work.label);
    const double seconds = work.time.count();
    double start = now();
    if (work.thread == HostWork::launcher) {
      Lane& lane = lane_of(work.worker);
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

  void post(Gate gate) {
    add_ended();
    lane_of(gate.worker).workers.post_gate(std::move(gate.until));
  }

  void post(const Flag& flag) { add(flag.label); }
  void post(const Raise& raise) {
    add_ended();
    log_.end(raise.flag, now());
    changed(raise.flag);
  }

  /// What the library takes for it; null in groups of one rank, where it returns at once.
  const Plans::Choice* choice_of(const Collective& collective) {
    bool is_new = false;
    const Plans::Choice* choice =
        plans_.choose({collective.kind, collective.communicator}, collective.size, is_new);
    if (is_new) summary_.priced(choice->cost);
    return choice;
  }

  // ---- what moves by itself -------------------------------------------------------------------

  void start(Transfer transfer) {
    transfer.start = now();
    log_.moving.begin(now());
    log_.working.begin(now());
    if (transfer.stream > 0 && job_.library.on_gpu()) {
      Workers& workers = lanes_.front().workers;
      workers.run(now());
      workers.kernel_begins();
      lanes_.front().dirty = true;
    }
    engine_->network().start(transfer.id, transfer.pattern, transfer.size, transfer.cost);
    in_flight_.emplace(transfer.id, std::move(transfer));
  }

  void transfer_done(TransferId id) {
    const auto found = in_flight_.find(id);
    if (found == in_flight_.end()) {
      collective_done(id);
      return;
    }
    const Transfer transfer = std::move(found->second);
    in_flight_.erase(found);
    log_.moving.end(transfer.start, now());
    log_.working.end(transfer.start, now());
    lanes_[traced_lane()].workers.span("communication", transfer.label, transfer.start, now(),
                                       transfer.size, transfer.tensors);
    if (transfer.stream > 0) {
      Workers& workers = lanes_.front().workers;
      workers.run(now());
      if (job_.library.on_gpu()) workers.kernel_ends();
      auto& stream = streams_[transfer.stream];
      stream.pop_front();
      if (!stream.empty()) start(stream.front());
    }
    done(id);
  }

  /// Ends an operation that takes no time, after the events of this instant that are under way.
  void end_now(OperationId id) {
    engine_->at(engine_->now(), [this, id] {
      done(id);
      pump();
    });
  }

  /// An operation has ended on every participant.
  void done(OperationId id) {
    log_.end(id, now());
    changed(id);
    tell(OperationDone{id});
  }

  /// Lanes that may wait for an operation can run on.
  void changed(OperationId id) {
    if (lanes_.size() == 1) {
      lanes_.front().dirty = true;
      return;
    }
    const auto waiting = waiters_.find(id);
    if (waiting == waiters_.end()) return;
    for (const std::size_t lane : waiting->second) lanes_[lane].dirty = true;
    waiters_.erase(waiting);
  }

  // ---- the ranks' streams ---------------------------------------------------------------------

  /// Lets run what can run.
  void pump() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (!lanes_[lane].dirty) continue;
        lanes_[lane].dirty = false;
        progress(lane);
        again = true;
      }
    }
  }

  void progress(std::size_t number) {
    Lane& lane = lanes_[number];
    lane.workers.run(now());
    while (const auto mark = lane.workers.take_passed()) done(*mark);
    while (const auto position = lane.workers.take_ready()) {
      const double start = std::max(now(), lane.workers.collective(*position).start);
      engine_->at(Seconds{start}, [this, at = *position] {
        start_collective(at);
        pump();
      });
    }
    if (lane.step == scripts_.front().size() && lane.workers.iteration_ended()) {
      end_iteration(number);
    } else if (traits_.dynamic && !lane.dirty) {
      look_again(number);
    }
  }

  /// Comes back to a lane when one of its ranks gets to something that others wait for.
  void look_again(std::size_t number) {
    Lane& lane = lanes_[number];
    const double when = lane.workers.next_time();
    if (when == never) {
      if (lanes_.size() > 1) wait_for_gate(number);
      return;
    }
    if (when == lane.wake || when <= now()) return;
    lane.wake = when;
    engine_->at(Seconds{when}, [this, number, when] {
      Lane& woken = lanes_[number];
      if (woken.wake != when) return;
      woken.wake = never;
      woken.dirty = true;
      pump();
    });
  }

  void wait_for_gate(std::size_t number) {
    Lane& lane = lanes_[number];
    const auto blocking = lane.workers.blocked_on();
    if (!blocking || lane.waits_for == blocking) return;
    lane.waits_for = blocking;
    waiters_[*blocking].push_back(number);
  }

  void start_collective(std::size_t position) {
    const auto& item = lanes_.front().workers.collective(position);
    const Plans::Choice* choice = choice_of(item.collective);
    if (choice == nullptr) {
      collective_done(item.operation);
      return;
    }
    engine_->network().start(item.operation, choice->pattern, item.collective.size, choice->cost);
  }

  void collective_done(OperationId id) {
    const auto position = position_.extract(id).mapped();
    lanes_.front().workers.finish(position, now());
    lanes_.front().dirty = true;
    tell(OperationDone{id});
  }

  void end_iteration(std::size_t number) {
    Lane& lane = lanes_[number];
    summary_.iteration_ended(number, lane.iteration, lane.workers.samples());
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

  const Job& job_;
  std::unique_ptr<Strategy> strategy_;
  Traits traits_;
  Plans plans_;
  std::unique_ptr<Engine> engine_;
  OperationLog log_;
  std::vector<MemberGroup> members_;
  Summary summary_;
  std::deque<Lane> lanes_;
  /// What the launcher threads do, by worker class: the same steps with other times.
  std::vector<std::vector<LaunchStep>> scripts_;
  std::vector<double> other_seconds_;                      ///< of the item that is posted next
  std::unordered_map<OperationId, std::size_t> position_;  ///< in the communication stream
  std::unordered_map<TransferId, Transfer> in_flight_;
  std::unordered_map<int, std::deque<Transfer>> streams_;
  std::unordered_map<int, double> threads_;  ///< host thread -> when it is free
  std::unordered_map<OperationId, std::vector<std::size_t>> waiters_;
  std::size_t lanes_running_ = 0;
};

}  // namespace

RunResult simulate(const Job& job) {
  auto strategy = job.make_strategy(job_view(job));
  const int world_size = static_cast<int>(job.placement.size());
  const bool independent = strategy->traits().independent_workers;
  auto members = make_members(world_size, job.jitter, job.stragglers, job.profile, job.run.seed,
                              classes_of(job), !independent);
  if (!independent || world_size <= job.independent_workers_max) {
    return Training(job, std::move(strategy), std::move(members)).run();
  }
  const Thinning thinning(job, strategy->exchanges());
  auto thinned = job.make_strategy(thinning.view());
  return thinning.of_all(
      Training(thinning.job(), std::move(thinned), thinning.chosen(members)).run());
}

}  // namespace gradwire
