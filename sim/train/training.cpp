#include "sim/train/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/launcher.hpp"
#include "sim/train/summary.hpp"
#include "sim/train/workers.hpp"

namespace gradwire {
namespace {

/// Host time to launch one kernel: median of 4 350 cudaLaunchKernel calls in the V100 trace behind
/// profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml.
constexpr double kernel_launch = 5.2e-6;  // s

/// All that can be in flight: for each collective those of the library's algorithms.
struct Plans {
  std::vector<Pattern> patterns;
  std::map<CollectiveKind, std::span<const Pattern>> of_kind;
};

Plans make_plans(const Job& job, const Strategy& strategy) {
  Plans plans;
  if (job.placement.size() < 2) return plans;
  std::map<CollectiveKind, std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [kind, communicator] : strategy.collectives()) {
    auto planned = job.library.plan(kind, job.placement);
    ranges[kind] = {plans.patterns.size(), planned.size()};
    std::move(planned.begin(), planned.end(), std::back_inserter(plans.patterns));
  }
  for (const auto& [kind, range] : ranges) {
    plans.of_kind[kind] = std::span(plans.patterns).subspan(range.first, range.second);
  }
  return plans;
}

EngineOptions engine_options(const Job& job) {
  EngineOptions options = job.engine;
  options.one_at_a_time = job.library.concurrent_collectives() == 1;
  return options;
}

std::span<const int> classes_of(const Job& job) {
  return job.classes == nullptr ? std::span<const int>() : job.classes->of_rank;
}

std::vector<std::vector<LaunchStep>> other_scripts(const Job& job) {
  std::vector<std::vector<LaunchStep>> scripts;
  for (int c = 1; c < class_count(job); ++c) {
    scripts.push_back(launch_script(profile_of(job, c), job.micro_batches));
  }
  return scripts;
}

/// One run: the launcher thread, the strategy it tells, the ranks' streams and the engine.
class Training {
 public:
  explicit Training(const Job& job)
      : job_(job),
        strategy_(job.make_strategy(job_view(job))),
        plans_(make_plans(job, *strategy_)),
        engine_(make_engine(job.cluster, plans_.patterns, engine_options(job))),
        workers_(
            make_members(static_cast<int>(job.placement.size()), job.jitter, job.stragglers,
                         job.profile, job.run.seed, classes_of(job)),
            tensors_of(job.profile), class_count(job),
            {.on_gpu = job.library.on_gpu(), .concurrent = job.library.concurrent_collectives()}),
        draws_(job.jitter, job.profile, job.run.seed),
        script_(launch_script(job.profile, job.micro_batches)),
        other_scripts_(other_scripts(job)),
        summary_(job, workers_.members()) {}

  RunResult run() {
    const auto begin = std::chrono::steady_clock::now();
    engine_->at(Seconds{0}, [this] { begin_iteration(); });
    engine_->run(
        [this](TransferId id, Seconds /*now*/) { collective_done(static_cast<std::size_t>(id)); });
    if (iteration_ < iterations()) {
      throw SimulationError(
          fmt::format("iteration {} never ends; waiting: {}", iteration_, workers_.waiting()));
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    return summary_.result(engine_->network(), engine_->now(), wall.count(),
                           std::move(workers_.spans()));
  }

 private:
  [[nodiscard]] int iterations() const { return job_.run.warmup + job_.run.iterations; }
  [[nodiscard]] double now() const { return engine_->now().count(); }
  [[nodiscard]] bool traced() const { return job_.record_spans && iteration_ == job_.run.warmup; }

  void begin_iteration() {
    draws_.draw(iteration_, workers_.members());
    if (traced()) workers_.trace(summary_.slowest_member());
    workers_.begin_iteration(draws_);
    base_ = workers_.first_start();
    host_ = 0;
    step_ = 0;
    tell(IterationStart{iteration_});
    launch();
  }

  /// Launches up to the next hook, then lets time pass to it.
  void launch() {
    while (step_ < script_.size()) {
      other_seconds_.clear();
      for (const auto& script : other_scripts_) {
        other_seconds_.push_back(script[step_].item.seconds);
      }
      const LaunchStep& step = script_[step_++];
      if (traced() && step.host > 0) {
        workers_.host_span("launch " + step.name, base_ + host_, step.host);
      }
      host_ += step.host;
      post(step.item, step.name);
      if (step.hooks.empty() && !step.backward_done) continue;
      engine_->at(Seconds{std::max(now(), base_ + host_)}, [this, &step] {
        for (const TensorId tensor : step.hooks) tell(HookFired{tensor, step.micro_batch});
        if (step.backward_done) tell(BackwardDone{step.micro_batch});
        launch();
      });
      return;
    }
    progress();
  }

  void tell(const Event& event) {
    bool communicates = false;
    for (auto& operation : strategy_->on_event(engine_->now(), event)) {
      communicates |= std::holds_alternative<Collective>(operation);
      std::visit([this](auto& op) { post(std::move(op)); }, operation);
      ++operations_;
    }
    if (communicates) progress();
  }

  void post(ComputeItem item, std::string name) {
    item.launched = host_;
    workers_.post(item, std::move(name), other_seconds_);
  }
  void post(DeviceWork work) {
    host_ += work.kernels * kernel_launch;
    const bool copy = work.kind == WorkKind::copy;
    other_seconds_.clear();
    for (int c = 1; c < class_count(job_); ++c) {
      other_seconds_.push_back(price(work, gpu_of(job_, c)));
    }
    const auto slowdown = job_.profile.overlap.find(copy ? "copy" : "encode");
    post({.part = copy ? Part::copies : Part::encode_decode,
          .seconds = price(work, job_.gpu),
          .slowdown = slowdown == job_.profile.overlap.end() ? 1 : slowdown->second},
         std::move(work.label));
  }
  void post(Collective collective) {
    host_ += kernel_launch;
    const Choice* choice = choice_of(collective);
    summary_.collective_posted(iteration_, choice == nullptr ? nullptr : choice->pattern,
                               collective.size);
    stream_position_[operations_] = workers_.post(CommunicationItem{
        .collective = std::move(collective), .operation = operations_, .launched = host_});
  }
  void post(const Gate& gate) {
    std::vector<std::size_t> until;
    for (const OperationId operation : gate.until) {
      // Device work before a gate has ended by the order of the stream.
      const auto found = stream_position_.find(operation);
      if (found != stream_position_.end()) until.push_back(found->second);
    }
    workers_.post_gate(std::move(until));
  }

  template <class Other>
  void post(const Other& /*operation*/) {
    throw SimulationError("this operation is not simulated yet");
  }

  struct Choice {
    const Pattern* pattern = nullptr;
    CollectiveCost cost;
  };

  /// What the library takes for it; null on a single rank, where it returns at once.
  const Choice* choice_of(const Collective& collective) {
    const auto plans = plans_.of_kind.find(collective.kind);
    if (plans == plans_.of_kind.end()) return nullptr;
    const auto [found, is_new] =
        choices_.try_emplace(std::pair{collective.kind, collective.size.count()});
    Choice& choice = found->second;
    if (is_new) {
      auto [pattern, cost] = job_.library.choose(plans->second, collective.size);
      choice = {&plans->second[pattern], std::move(cost)};
      summary_.priced(choice.cost);
    }
    return &choice;
  }

  void progress() {
    workers_.run();
    while (const auto position = workers_.take_ready()) {
      const double start = std::max(now(), workers_.collective(*position).start);
      engine_->at(Seconds{start}, [this, at = *position] { start_collective(at); });
    }
    if (step_ == script_.size() && workers_.iteration_ended()) end_iteration();
  }

  void start_collective(std::size_t position) {
    const auto& collective = workers_.collective(position).collective;
    const Choice* choice = choice_of(collective);
    if (choice == nullptr) {
      collective_done(position);
      return;
    }
    engine_->network().start(static_cast<TransferId>(position),
                             static_cast<PatternId>(choice->pattern - plans_.patterns.data()),
                             collective.size, choice->cost);
  }

  void collective_done(std::size_t position) {
    summary_.collective_ended(workers_.finish(position, now()));
    tell(OperationDone{workers_.collective(position).operation});
    progress();
  }

  void end_iteration() {
    summary_.iteration_ended(iteration_, workers_.samples());
    workers_.trace(std::nullopt);
    step_ = 0;
    if (++iteration_ == iterations()) return;
    double first = workers_.samples().front().end;
    for (const auto& sample : workers_.samples()) first = std::min(first, sample.end);
    engine_->at(Seconds{std::max(now(), first)}, [this] { begin_iteration(); });
  }

  const Job& job_;
  std::unique_ptr<Strategy> strategy_;
  Plans plans_;
  std::unique_ptr<Engine> engine_;
  Workers workers_;
  IterationDraws draws_;
  std::vector<LaunchStep> script_;
  /// Of the other worker classes: the same steps with other times.
  std::vector<std::vector<LaunchStep>> other_scripts_;
  std::vector<double> other_seconds_;  ///< of the item that is posted next
  Summary summary_;
  std::map<std::pair<CollectiveKind, std::int64_t>, Choice> choices_;
  std::unordered_map<OperationId, std::size_t> stream_position_;
  OperationId operations_ = 0;
  int iteration_ = 0;
  std::size_t step_ = 0;
  double base_ = 0;  ///< start of the iteration on the first rank
  double host_ = 0;  ///< launcher time since then
};

}  // namespace

int class_count(const Job& job) {
  return job.classes == nullptr ? 1 : 1 + static_cast<int>(job.classes->others.size());
}

const ComputeProfile& profile_of(const Job& job, int worker_class) {
  return worker_class == 0
             ? job.profile
             : job.classes->others[static_cast<std::size_t>(worker_class - 1)].profile;
}

const GpuSpec& gpu_of(const Job& job, int worker_class) {
  return worker_class == 0 ? job.gpu
                           : job.classes->others[static_cast<std::size_t>(worker_class - 1)].gpu;
}

JobView job_view(const Job& job) {
  JobView view;
  view.world_size = static_cast<int>(job.placement.size());
  view.micro_batches = job.micro_batches;
  view.tensors = tensors_of(job.profile);
  view.gradient_order = job.profile.gradient_order;
  view.buffer_elements = job.profile.buffer_elements;
  view.buffer_tensors = job.profile.buffers;
  for (const auto& layer : job.profile.layers) {
    view.layers.push_back({layer.forward, layer.backward});
  }
  view.optimizer = job.profile.optimizer;
  std::set<int> machines;
  for (const GpuRef& place : job.placement) {
    view.machine_of.push_back(place.node);
    machines.insert(place.node);
  }
  view.machines = static_cast<int>(machines.size());
  return view;
}

RunResult simulate(const Job& job) {
  return Training(job).run();
}

}  // namespace gradwire
