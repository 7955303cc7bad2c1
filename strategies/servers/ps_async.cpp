#include "strategies/servers/ps_async.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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

PsAsync::PsAsync(const PsAsyncOptions& options, JobView job)
    : options_(options), job_(std::move(job)), places_(server_places(job_)) {
  groups_ = variable_groups(job_, static_cast<int>(places_.size()), options_.servers);
  of_tensor_ = groups_of_tensors(job_, groups_);
  of_layer_ = groups_of_layers(job_, groups_);
  forward_ = forward_order(job_, groups_);
  workers_.resize(static_cast<std::size_t>(job_.world_size));
  for (Worker& worker : workers_) worker.read.assign(groups_.size(), 0);
  clocks_.resize(workers_.size());
  versions_.resize(groups_.size());
  queues_.resize(2 * workers_.size());
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
          .lead = options_.bound};
}

int PsAsync::exchange(WorkerId worker, int server, bool push) const {
  return 2 * (worker * static_cast<int>(places_.size()) + server) + (push ? 0 : 1);
}

std::vector<Exchange> PsAsync::exchanges() const {
  const std::int64_t count =
      2 * static_cast<std::int64_t>(workers_.size()) * static_cast<std::int64_t>(places_.size());
  if (count > exchanges_max) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("{} workers push to {} servers and pull from them on {} routes; "
                    "expected at most {}, as with fewer servers",
                    workers_.size(), places_.size(), count, exchanges_max));
  }
  std::vector<Exchange> exchanges;
  for (int rank = 0; rank < job_.world_size; ++rank) {
    const Endpoint gpu = gpu_of(rank);
    for (std::size_t server = 0; server < places_.size(); ++server) {
      const std::string ends = " " + std::to_string(rank) + ", server " + std::to_string(server);
      exchanges.push_back({.name = "push of worker" + ends, .phases = {{{gpu, places_[server]}}}});
      exchanges.push_back({.name = "pull of worker" + ends, .phases = {{{places_[server], gpu}}}});
    }
  }
  return exchanges;
}

Operations PsAsync::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration, start->worker);
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    if (forward->micro_batch == 0) {
      gate(forward->worker, of_layer_[static_cast<std::size_t>(forward->layer)]);
    }
  } else if (const auto* fired = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(fired->micro_batch)) hook(fired->worker, fired->tensor);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    writer_.post(worker_step(done->worker));
    if (!options_.pull_at_once) {
      writer_.post(Gate{.until = {worker(done->worker).over}, .worker = done->worker});
    }
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    advance(ended->operation);
  }
  return writer_.take();
}

bool PsAsync::too_far_ahead(const Worker& worker) const {
  return options_.bound && worker.iteration - slowest_ > *options_.bound;
}

void PsAsync::start_iteration(int iteration, WorkerId id) {
  Worker& self = worker(id);
  self.iteration = iteration;
  self.waited.assign(groups_.size(), false);
  self.missing.clear();
  for (const auto& group : groups_) self.missing.push_back(static_cast<int>(group.tensors.size()));
  if (!options_.pull_at_once) self.over = writer_.post(Flag{.label = "applied"});
  self.before = std::exchange(self.pulls, {});
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    self.pulls.push_back(writer_.post(Flag{.label = "pulled"}));
  }
  self.held = too_far_ahead(self);
  if (!self.held) {
    begin_pulls(id);
    return;
  }
  self.released = writer_.post(Flag{.label = "slowest worker"});
  writer_.post(Gate{.until = {self.released}, .worker = id});
}

void PsAsync::begin_pulls(WorkerId id) {
  if (options_.pull_at_once) return;
  const Worker& self = worker(id);
  for (const int index : pull_order(options_.servers, forward_, self.iteration, id)) {
    move(Stage::pulled,
         {.worker = id, .group = index, .flag = self.pulls[static_cast<std::size_t>(index)]});
  }
}

void PsAsync::move(Stage stage, Pending group) {
  group.stage = stage;
  group.queue = 2 * group.worker + (stage == Stage::pushed ? 0 : 1);
  queues_[static_cast<std::size_t>(group.queue)].push(group);
  send(group.queue);
}

void PsAsync::send(int number) {
  auto& queue = queues_[static_cast<std::size_t>(number)];
  while (auto next = queue.take(options_.servers.in_flight)) {
    const auto at = static_cast<std::size_t>(next->group);
    const bool pulls = next->stage == Stage::pulled;
    if (pulls) worker(next->worker).read[at] = versions_[at];
    const auto calls = call_work(*next);
    next->under_way = std::make_shared<int>(1 + static_cast<int>(calls.size()));
    for (const HostWork& work : calls) pending_[writer_.post(work)] = *next;
    pending_[writer_.post(Messages{.exchange = exchange(next->worker, groups_[at].server, !pulls),
                                   .size = groups_[at].size,
                                   .tensors = groups_[at].tensors,
                                   .label = pulls ? "pull" : "push"})] = *next;
  }
}

std::vector<HostWork> PsAsync::call_work(const Pending& moving) const {
  const RemoteCalls& calls = options_.servers.calls;
  if (!calls.cost()) return {};
  const VariableGroup& moved = groups_[static_cast<std::size_t>(moving.group)];
  const int servers = static_cast<int>(places_.size());
  const auto variables = static_cast<std::int64_t>(moved.tensors.size());
  // Behind the threads that apply: those of each server, then of each worker.
  const int server = moved.server;
  const int self = servers + moving.worker;
  const auto sends = [&](int process, double times) {
    return HostWork{.thread = servers + 2 * process,
                    .time = times * calls.sending(variables, moved.size),
                    .label = "send"};
  };
  const auto receives = [&](int process, double times) {
    return HostWork{.thread = servers + 2 * process + 1,
                    .time = times * calls.receiving(variables, moved.size),
                    .label = "receive"};
  };
  if (moving.stage == Stage::pushed) {
    return {sends(self, 1), receives(server, job_.stands_for)};
  }
  return {sends(server, job_.stands_for), receives(self, 1)};
}

void PsAsync::gate(WorkerId id, const std::vector<int>& groups) {
  Worker& self = worker(id);
  const auto& pulls = options_.pull_at_once ? self.before : self.pulls;
  if (pulls.empty()) return;
  Gate gate{.until = {}, .worker = id};
  for (const int index : groups) {
    const auto at = static_cast<std::size_t>(index);
    if (self.waited[at]) continue;
    self.waited[at] = true;
    gate.until.push_back(pulls[at]);
  }
  if (!gate.until.empty()) writer_.post(std::move(gate));
}

void PsAsync::hook(WorkerId id, TensorId tensor) {
  Worker& self = worker(id);
  for (const int index : of_tensor_[static_cast<std::size_t>(tensor)]) {
    const auto at = static_cast<std::size_t>(index);
    if (--self.missing[at] > 0) continue;
    post(Stage::ready, {.worker = id, .group = index, .flag = self.pulls[at]},
         launch_marker("gradients ready", id));
  }
}

void PsAsync::post(Stage stage, const Pending& of, Operation operation) {
  pending_[writer_.post(std::move(operation))] = {
      .stage = stage, .worker = of.worker, .group = of.group, .flag = of.flag};
}

void PsAsync::advance(OperationId operation) {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  if (pending.queue >= 0) {
    if (--*pending.under_way > 0) return;
    queues_[static_cast<std::size_t>(pending.queue)].ended();
    send(pending.queue);
  }
  const auto at = static_cast<std::size_t>(pending.group);
  switch (pending.stage) {
    case Stage::pulled:
      writer_.post(Raise{.flag = pending.flag});
      break;
    case Stage::ready:
      move(Stage::pushed, pending);
      break;
    case Stage::pushed:
      post(Stage::applied, pending,
           HostWork{.thread = groups_[at].server,
                    .time = job_.stands_for * groups_[at].sum_time(options_.servers.server_rate),
                    .label = "apply"});
      break;
    case Stage::applied:
      applied(pending);
      break;
  }
}

void PsAsync::applied(const Pending& pending) {
  const auto at = static_cast<std::size_t>(pending.group);
  Worker& self = worker(pending.worker);
  missed_ += versions_[at] - self.read[at];  // its own comes only now
  ++versions_[at];
  ++updates_;
  if (options_.pull_at_once) move(Stage::pulled, pending);
  if (++self.applied < static_cast<int>(groups_.size())) return;
  self.applied = 0;
  if (!options_.pull_at_once) writer_.post(Raise{.flag = self.over});
  ++clocks_[static_cast<std::size_t>(pending.worker)];
  release();
}

void PsAsync::release() {
  const int slowest = *std::ranges::min_element(clocks_);
  if (slowest == slowest_) return;
  slowest_ = slowest;
  for (std::size_t id = 0; id < workers_.size(); ++id) {
    Worker& self = workers_[id];
    if (!self.held || too_far_ahead(self)) continue;
    writer_.post(Raise{.flag = self.released});
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
