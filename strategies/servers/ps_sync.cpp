#include "strategies/servers/ps_sync.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Exchanges: from all GPUs to their hosts, back, and then two a server.
constexpr int to_hosts = 0;
constexpr int exchanges_before_servers = 1;
constexpr int push_to(int server) {
  return exchanges_before_servers + 2 * server;
}
constexpr int pull_from(int server) {
  return push_to(server) + 1;
}

/// Adding `vectors` in one expression, in sums of two: it reads all and writes one, where a sum of
/// two has three accesses. Source: TensorFlow, kernels/aggregate_ops.h (Add2 to Add9); MXNet,
/// kvstore/comm.h, ReduceSumCPU (four at a time).
constexpr double add_n_passes(int vectors) {
  return (vectors + 1) / 3.0;
}

}  // namespace

PsSync::PsSync(const PsSyncOptions& options, JobView job)
    : options_(options), job_(std::move(job)), places_(server_places(job_)) {
  groups_ = variable_groups(job_, static_cast<int>(places_.size()), options_.servers);
  of_tensor_ = groups_of_tensors(job_, groups_);
  of_layer_ = groups_of_layers(job_, groups_);
  forward_ = forward_order(job_, groups_);
  queues_.resize(static_cast<std::size_t>(push_to(static_cast<int>(places_.size()))));
  for (const Endpoint& server : places_) callers_.push_back(callers_of(server));
}

StrategyMaker PsSync::read(Knobs& knobs) {
  static const std::vector<std::string> workers = {"gpu", "tower", "machine"};
  static const std::vector<std::string> pulls = {"barrier", "variable"};
  static const std::vector<std::string> waits = {"layer", "all"};
  PsSyncOptions options;
  options.servers = read_parameter_servers(knobs, options.servers.message);
  const std::string worker =
      knobs.choice("worker", "gpu", workers,
                   "between-graph replication, a process a GPU; tower: tensorflow/benchmarks' "
                   "parameter_server; machine: its distributed_replicated, AutoDist");
  options.worker = static_cast<ServedWorker>(std::ranges::find(workers, worker) - workers.begin());
  options.barrier = knobs.choice("pull", "barrier", pulls,
                                 "tf.train.SyncReplicasOptimizer: tokens when all variables are "
                                 "updated") == "barrier";
  options.layer_wait =
      knobs.choice("forward_wait", "layer", waits,
                   "TensorFlow's data flow: an operation waits for the variables that it reads") ==
      "layer";
  options.variable_time =
      knobs.time("variable_time", options.variable_time,
                 "of a worker that takes a variable over, with several machines and rpc_threads; "
                 "no source states it: calibrate it (results/reference/autodist.yaml)");
  return [options](const JobView& job) { return std::make_unique<PsSync>(options, job); };
}

Traits PsSync::traits() const {
  return {.dynamic = true, .forward_hooks = options_.layer_wait, .own_optimizer = true};
}

std::vector<int> PsSync::pushing_ranks() const {
  return options_.worker == ServedWorker::machine ? first_ranks(job_) : all_ranks(job_);
}

std::vector<Exchange> PsSync::exchanges() const {
  Exchange down{.name = "gradients to host memory", .phases = {{}}};
  for (const int rank : all_ranks(job_)) {
    down.phases.front().push_back({gpu_of(rank), host_of(rank)});
  }
  const auto up = reversed(down, "").phases.front();
  std::vector<Exchange> exchanges = {std::move(down)};
  for (std::size_t server = 0; server < places_.size(); ++server) {
    Exchange push{.name = "push to server " + std::to_string(server), .phases = {{}}};
    for (const int rank : pushing_ranks()) {
      push.phases.front().push_back({host_of(rank), places_[server]});
    }
    Exchange pull = reversed(push, "pull from server " + std::to_string(server));
    pull.phases.push_back(up);
    exchanges.push_back(std::move(push));
    exchanges.push_back(std::move(pull));
  }
  return exchanges;
}

Operations PsSync::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    iteration_ = start->iteration;
    start_iteration();
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    if (forward->micro_batch == 0) gate(of_layer_[static_cast<std::size_t>(forward->layer)]);
  } else if (const auto* fired = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(fired->micro_batch)) hook(fired->tensor);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    writer_.post(worker_step(0));
    if (!options_.layer_wait) writer_.post(Gate{.until = flags_});
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    advance(ended->operation);
  }
  return writer_.take();
}

void PsSync::start_iteration() {
  flags_before_ = std::exchange(flags_, {});
  waited_.assign(groups_.size(), false);
  missing_.clear();
  for (const auto& group : groups_) {
    missing_.push_back(static_cast<int>(group.tensors.size()));
    flags_.push_back(writer_.post(Flag{.label = "pulled"}));
  }
}

void PsSync::gate(const std::vector<int>& groups) {
  if (flags_before_.empty()) return;
  Gate gate;
  for (const int index : groups) {
    const auto at = static_cast<std::size_t>(index);
    if (waited_[at]) continue;
    waited_[at] = true;
    gate.until.push_back(flags_before_[at]);
  }
  if (!gate.until.empty()) writer_.post(std::move(gate));
}

void PsSync::hook(TensorId tensor) {
  for (const int index : of_tensor_[static_cast<std::size_t>(tensor)]) {
    const auto at = static_cast<std::size_t>(index);
    if (--missing_[at] > 0) continue;
    post(Stage::ready, index, flags_[at], launch_marker("gradients ready"));
  }
}

void PsSync::post(Stage stage, int group, OperationId flag, Operation operation) {
  pending_[writer_.post(std::move(operation))] = {stage, group, flag, -1};
}

void PsSync::move(Stage stage, int group, OperationId flag, int exchange) {
  queues_[static_cast<std::size_t>(exchange)].push({stage, group, flag, exchange});
  send(exchange);
}

void PsSync::send(int exchange) {
  auto& queue = queues_[static_cast<std::size_t>(exchange)];
  while (auto next = queue.take(options_.servers.in_flight)) {
    const VariableGroup& moved = group(next->group);
    const auto calls = call_work(*next);
    next->under_way = std::make_shared<int>(1 + static_cast<int>(calls.size()));
    for (const HostWork& work : calls) pending_[writer_.post(work)] = *next;
    pending_[writer_.post(Messages{.exchange = exchange,
                                   .size = moved.size,
                                   .tensors = moved.tensors,
                                   .label = exchange == to_hosts           ? "copy to host"
                                            : next->stage == Stage::pushed ? "push"
                                                                           : "pull"})] = *next;
  }
}

PsSync::Callers PsSync::callers_of(const Endpoint& server) const {
  const int machine = server.place == Endpoint::Place::server
                          ? job_.server_machine[static_cast<std::size_t>(server.index)]
                          : machine_of(job_, server.index);
  Callers callers;
  std::map<int, int> of_process;
  for (const int rank : pushing_ranks()) {
    const int own = machine_of(job_, rank);
    if (options_.worker == ServedWorker::machine && own == machine) continue;
    ++callers.all;
    int& here = of_process[options_.worker == ServedWorker::gpu ? rank : own];
    callers.of_process = std::max(callers.of_process, ++here);
  }
  return callers;
}

std::vector<HostWork> PsSync::call_work(const Pending& moving) const {
  const RemoteCalls& calls = options_.servers.calls;
  if (!calls.cost() || moving.exchange == to_hosts) return {};
  const VariableGroup& moved = group(moving.group);
  const Callers& callers = callers_[static_cast<std::size_t>(moved.server)];
  if (callers.all == 0) return {};
  const int servers = static_cast<int>(places_.size());
  const auto variables = static_cast<std::int64_t>(moved.tensors.size());
  // Behind the threads that sum: those of the workers' processes, alike in all, and each server's.
  const auto sends = [&](int process, int count) {
    return HostWork{.thread = 1 + servers + 2 * process,
                    .time = calls.sending(count * variables, count * moved.size),
                    .label = "send"};
  };
  const auto receives = [&](int process, int count) {
    return HostWork{.thread = 2 + servers + 2 * process,
                    .time = calls.receiving(count * variables, count * moved.size),
                    .label = "receive"};
  };
  const int server = 1 + moved.server;
  if (moving.stage == Stage::pushed) {
    return {sends(0, callers.of_process), receives(server, callers.all)};
  }
  HostWork taken = receives(0, callers.of_process);
  taken.time += static_cast<double>(variables) * options_.variable_time;
  return {sends(server, callers.all), std::move(taken)};
}

void PsSync::advance(OperationId operation) {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  if (pending.exchange >= 0) {
    if (--*pending.under_way > 0) return;
    queues_[static_cast<std::size_t>(pending.exchange)].ended();
    send(pending.exchange);
  }
  const VariableGroup& moved = group(pending.group);
  const BytesPerSecond rate = options_.servers.server_rate;
  // Thread 0 sums in the workers' machines, alike in all of them; a server has its own.
  const int local = (job_.world_size + pushers() - 1) / pushers();
  switch (pending.stage) {
    case Stage::ready:
      move(Stage::on_host, pending.group, pending.flag, to_hosts);
      break;
    case Stage::on_host:
      if (local > 1) {
        post(Stage::summed_here, pending.group, pending.flag,
             HostWork{.thread = 0,
                      .time = add_n_passes(local) * moved.sum_time(rate),
                      .label = "local sum"});
        break;
      }
      [[fallthrough]];
    case Stage::summed_here:
      move(Stage::pushed, pending.group, pending.flag, push_to(moved.server));
      break;
    case Stage::pushed:
      // All but the first are added, and the update is one more pass.
      post(Stage::updated, pending.group, pending.flag,
           HostWork{.thread = 1 + moved.server,
                    .time = pushers() * moved.sum_time(rate),
                    .label = "sum and update"});
      break;
    case Stage::updated:
      if (!options_.barrier) {
        move(Stage::pulled, pending.group, pending.flag, pull_from(moved.server));
        break;
      }
      updated_.push_back(pending);
      if (updated_.size() < groups_.size()) break;
      for (const int index : pull_order(options_.servers, forward_, iteration_, 0)) {
        const auto at = std::ranges::find(updated_, index, &Pending::group);
        assert(at != updated_.end());
        move(Stage::pulled, index, at->flag, pull_from(group(index).server));
      }
      updated_.clear();
      break;
    case Stage::pulled:
      writer_.post(Raise{.flag = pending.flag});
      break;
  }
}

std::vector<PlanGroup> PsSync::plan(int /*iteration*/) const {
  return plan_of(job_, groups_);
}

}  // namespace gradwire
