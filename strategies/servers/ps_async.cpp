#include "strategies/servers/ps_async.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Each takes half a kilobyte: 10 GB in all.
constexpr std::int64_t exchanges_max = 20'000'000;

}  // namespace

PsAsync::Worker::Worker(PsAsync& strategy, WorkerId id)
    : variables(strategy.groups_),
      read(strategy.groups_.size(), 0),
      push(
          strategy.poster_,
          [&strategy, id](const LaneItem& item) { return strategy.message(id, item, true); },
          Lane::Window{strategy.options_.servers.in_flight}),
      pull(
          strategy.poster_,
          [&strategy, id](const LaneItem& item) { return strategy.message(id, item, false); },
          Lane::Window{strategy.options_.servers.in_flight}) {}

PsAsync::PsAsync(const PsAsyncOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      places_(server_places(job)),
      groups_(variable_groups(job, static_cast<int>(places_.size()), options.servers)),
      of_tensor_(groups_of_tensors(job, groups_)),
      of_layer_(groups_of_layers(job, groups_)),
      forward_(forward_order(job, groups_)),
      clocks_(static_cast<std::size_t>(job.world_size)),
      versions_(groups_.size()) {
  for (WorkerId id = 0; id < job.world_size; ++id) workers_.emplace_back(*this, id);
}

PsAsyncOptions read_ps_async(Knobs& knobs) {
  static const std::vector<std::string> pulls = {"iteration", "variable"};
  PsAsyncOptions options;
  options.servers = read_parameter_servers(knobs, coarse_message);
  options.pull_at_once =
      knobs.choice("pull", "iteration", pulls,
                   "TensorFlow reads variables in the step that uses them; "
                   "variable: as soon as it is updated, MXNet's dist_async") == "variable";
  return options;
}

StrategyMaker PsAsync::read(Knobs& knobs) {
  const PsAsyncOptions options = read_ps_async(knobs);
  return [options](const JobView& job) { return std::make_unique<PsAsync>(options, job); };
}

Traits PsAsync::traits() const {
  return {.dynamic = true,
          .forward_hooks = true,
          .own_optimizer = true,
          .independent_workers = true,
          .lead = options_.bound,
          .exactness = Exactness::stale,
          .exchanges_rows = true};
}

int PsAsync::exchange(WorkerId worker, int server, bool push) const {
  return 2 * (worker * static_cast<int>(places_.size()) + server) + (push ? 0 : 1);
}

std::vector<Exchange> PsAsync::exchanges() const {
  std::vector<Exchange> named = visited_exchanges(*this);
  for (WorkerId id = 0; id < job_.world_size; ++id) {
    for (int server = 0; server < static_cast<int>(places_.size()); ++server) {
      for (const bool push : {true, false}) {
        named[static_cast<std::size_t>(exchange(id, server, push))].name =
            fmt::format("{} of worker {}, server {}", push ? "push" : "pull", id, server);
      }
    }
  }
  return named;
}

void PsAsync::visit_exchanges(const ExchangeVisit& visit) const {
  const std::int64_t count =
      2 * static_cast<std::int64_t>(workers_.size()) * static_cast<std::int64_t>(places_.size());
  if (count > exchanges_max) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("{} workers push to {} servers and pull from them on {} routes; "
                    "expected at most {}, as with fewer servers",
                    workers_.size(), places_.size(), count, exchanges_max));
  }
  std::vector<Bytes> loads(places_.size());
  for (const VariableGroup& group : groups_) {
    loads[static_cast<std::size_t>(group.server)] += group.size;
  }
  // Millions are visited: each is written over the one before it, and has no name.
  Exchange over{.name = {}, .phases = {{{}}}};
  for (int rank = 0; rank < job_.world_size; ++rank) {
    const Endpoint gpu = gpu_of(rank);
    for (std::size_t server = 0; server < places_.size(); ++server) {
      over.load = static_cast<double>(loads[server].count());
      for (const Message& message :
           {Message{gpu, places_[server]}, Message{places_[server], gpu}}) {
        over.phases.front().front() = message;
        visit(over);
      }
    }
  }
}

bool PsAsync::too_far_ahead(const Worker& worker) const {
  return options_.bound && worker.iteration - slowest_ > *options_.bound;
}

void PsAsync::begin(int iteration, WorkerId id) {
  Worker& self = worker(id);
  self.iteration = iteration;
  if (!options_.pull_at_once) self.over = poster_.post(Flag{.label = "applied"});
  self.variables.begin(poster_);
  self.held = too_far_ahead(self);
  if (!self.held) {
    begin_pulls(id);
    return;
  }
  self.released = poster_.post(Flag{.label = "slowest worker"});
  poster_.post(Gate{.until = {self.released}, .worker = id});
}

void PsAsync::begin_pulls(WorkerId id) {
  if (options_.pull_at_once) return;
  const Worker& self = worker(id);
  for (const int index : pull_order(options_.servers, forward_, self.iteration, id)) {
    pull(id, index, self.variables.pull(index));
  }
}

void PsAsync::forward(int layer, WorkerId id) {
  WorkerVariables& own = worker(id).variables;
  own.gate(poster_, options_.pull_at_once ? own.last_pulls() : own.pulls(),
           of_layer_[static_cast<std::size_t>(layer)], id);
}

void PsAsync::gradient(TensorId tensor, WorkerId id) {
  WorkerVariables& own = worker(id).variables;
  for (const int index : of_tensor_[static_cast<std::size_t>(tensor)]) {
    if (!own.arrived(index)) continue;
    poster_.post(launch_marker("gradients ready", id),
                 [this, id, index, flag = own.pull(index)] { push(id, index, flag); });
  }
}

void PsAsync::finish(WorkerId id) {
  poster_.post(worker_step(id));
  if (!options_.pull_at_once) poster_.post(Gate{.until = {worker(id).over}, .worker = id});
}

LaneItem PsAsync::item(WorkerId id, int index, bool pushes, Poster::Then then) const {
  return {.size = group(index).size,
          .tensors = group(index).tensors,
          .label = pushes ? "push" : "pull",
          .then = std::move(then),
          .key = static_cast<std::uint64_t>(index),
          .beside = call_work(id, group(index), pushes)};
}

Messages PsAsync::message(WorkerId id, const LaneItem& item, bool pushes) {
  if (!pushes) worker(id).read[item.key] = versions_[item.key];
  return {.exchange = exchange(id, groups_[item.key].server, pushes),
          .size = item.size,
          .tensors = item.tensors,
          .label = item.label};
}

void PsAsync::pull(WorkerId id, int index, OperationId flag) {
  worker(id).pull.add(item(id, index, false, [this, flag] { poster_.post(Raise{.flag = flag}); }));
}

void PsAsync::push(WorkerId id, int index, OperationId flag) {
  worker(id).push.add(item(id, index, true, [this, id, index, flag] {
    const VariableGroup& pushed = group(index);
    poster_.post(HostWork{.thread = pushed.server,
                          .time = job_.stands_for * pushed.sum_time(options_.servers.server_cpu),
                          .label = "apply"},
                 [this, id, index, flag] { applied(id, index, flag); });
  }));
}

Operations PsAsync::call_work(WorkerId id, const VariableGroup& group, bool pushes) const {
  const RemoteCalls& calls = options_.servers.calls;
  if (!calls.cost()) return {};
  // Behind the threads that apply: those of each server, then of each worker.
  const int servers = static_cast<int>(places_.size());
  const RemoteCalls::End own{.thread = servers + 2 * (servers + id)};
  const RemoteCalls::End remote{.thread = servers + 2 * group.server, .times = job_.stands_for};
  const auto variables = static_cast<std::int64_t>(group.tensors.size());
  const auto work = pushes ? calls.work(own, remote, variables, group.size)
                           : calls.work(remote, own, variables, group.size);
  return {work.begin(), work.end()};
}

void PsAsync::applied(WorkerId id, int index, OperationId flag) {
  const auto at = static_cast<std::size_t>(index);
  Worker& self = worker(id);
  missed_ += versions_[at] - self.read[at];  // its own comes only now
  ++versions_[at];
  ++updates_;
  if (options_.pull_at_once) pull(id, index, flag);
  if (++self.applied < static_cast<int>(groups_.size())) return;
  self.applied = 0;
  if (!options_.pull_at_once) poster_.post(Raise{.flag = self.over});
  ++clocks_[static_cast<std::size_t>(id)];
  release();
}

void PsAsync::release() {
  const int slowest = *std::ranges::min_element(clocks_);
  if (slowest == slowest_) return;
  slowest_ = slowest;
  for (std::size_t id = 0; id < workers_.size(); ++id) {
    Worker& self = workers_[id];
    if (!self.held || too_far_ahead(self)) continue;
    poster_.post(Raise{.flag = self.released});
    begin_pulls(static_cast<WorkerId>(id));
    self.held = false;
  }
}

std::vector<PlanGroup> PsAsync::plan(int /*iteration*/) const {
  return plan_of(job_, groups_);
}

std::optional<double> PsAsync::staleness() const {
  if (updates_ == 0) return 0;
  return static_cast<double>(missed_) / static_cast<double>(updates_);
}

}  // namespace gradwire
