#include "strategies/servers/ps_sync.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/refusal.hpp"
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

/// A GPU's copies to others are in order.
Lane::Window window_of(const PsSyncOptions& options) {
  return {options.on_gpus ? 1 : options.servers.in_flight};
}

/// Messages of the exchange that is an item's key.
Operation by_key(const LaneItem& item) {
  return messages_by(static_cast<int>(item.key))(item);
}

/// Where the variables lie. @throws UnsupportedConfiguration for GPUs of several machines.
std::vector<Endpoint> places_of(const PsSyncOptions& options, const JobView& job) {
  if (!options.on_gpus) return server_places(job);
  if (first_ranks(job).size() > 1) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "variables on GPUs, which are read within one machine; the job has several");
  }
  std::vector<Endpoint> places;
  for (const int rank : all_ranks(job)) places.push_back(gpu_of(rank));
  return places;
}

/// Adding `vectors` in one expression, in sums of two: it reads all and writes one, where a sum of
/// two has three accesses. Source: TensorFlow, kernels/aggregate_ops.h (Add2 to Add9); MXNet,
/// kvstore/comm.h, ReduceSumCPU (four at a time).
constexpr double add_n_passes(int vectors) {
  return (vectors + 1) / 3.0;
}

}  // namespace

PsSync::PsSync(const PsSyncOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      places_(places_of(options, job)),
      groups_(variable_groups(job, static_cast<int>(places_.size()), options.servers)),
      of_tensor_(groups_of_tensors(job, groups_)),
      of_layer_(groups_of_layers(job, groups_)),
      forward_(forward_order(job, groups_)),
      variables_(groups_),
      updated_(groups_.size()),
      in_turn_(options.on_gpus && !job.peer_access),
      off_gpus_(poster_, by_key, window_of(options)) {
  const Lane::Window window = window_of(options);
  for (int server = 0; server < static_cast<int>(places_.size()); ++server) {
    callers_.push_back(callers_of(places_[static_cast<std::size_t>(server)]));
    push_.emplace_back(poster_, messages_by(push_to(server)), window);
    pull_.emplace_back(poster_, messages_by(pull_from(server)), window);
  }
}

StrategyMaker PsSync::read(Knobs& knobs, const TensorflowServers& servers) {
  static const std::vector<std::string> workers = {"gpu", "tower", "machine"};
  static const std::vector<std::string> places = {"hosts", "gpus"};
  static const std::vector<std::string> pulls = {"barrier", "variable"};
  static const std::vector<std::string> waits = {"layer", "all"};
  PsSyncOptions options;
  options.servers = read_parameter_servers(knobs, options.servers.message);
  const std::string worker =
      knobs.choice("worker", "gpu", workers,
                   "between-graph replication, a process a GPU; tower: tensorflow/benchmarks' "
                   "parameter_server; machine: its distributed_replicated, AutoDist");
  options.worker = static_cast<ServedWorker>(std::ranges::find(workers, worker) - workers.begin());
  options.on_gpus =
      knobs.choice("variables_on", "hosts", places,
                   "gpus: of one machine, tensorflow/benchmarks' local_parameter_device, gpu by "
                   "default") == "gpus";
  if (options.on_gpus) options.worker = ServedWorker::tower;
  options.barrier = knobs.choice("pull", "barrier", pulls,
                                 "tf.train.SyncReplicasOptimizer: tokens when all variables are "
                                 "updated") == "barrier";
  options.layer_wait =
      knobs.choice("forward_wait", "layer", waits,
                   "TensorFlow's data flow: an operation waits for the variables that it reads") ==
      "layer";
  options.variable_time = servers.variable_time;
  knobs.read("variable_time", options.variable_time,
             "of a worker that takes a variable over, with several machines and rpc_threads: "
             "TensorFlow's, profiles/libraries/tensorflow_servers.yaml");
  return [options](const JobView& job) { return std::make_unique<PsSync>(options, job); };
}

Traits PsSync::traits() const {
  return {.dynamic = true,
          .forward_hooks = options_.layer_wait,
          .own_optimizer = true,
          .exchanges_rows = true};
}

std::vector<int> PsSync::pushing_ranks() const {
  return options_.worker == ServedWorker::machine ? first_ranks(job_) : all_ranks(job_);
}

std::vector<Exchange> PsSync::exchanges() const {
  return visited_exchanges(*this);
}

void PsSync::visit_exchanges(const ExchangeVisit& visit) const {
  Exchange down{.name = "gradients to host memory", .phases = {{}}};
  for (const int rank : all_ranks(job_)) {
    down.phases.front().push_back({gpu_of(rank), host_of(rank)});
  }
  visit(down);
  // Hundreds of servers have millions of messages: each server's are written over those before
  // them.
  Exchange push{.name = {}, .phases = {{}}};
  Exchange pull = push;
  if (!options_.on_gpus) pull.phases.push_back(reversed(std::move(down), "").phases.front());
  const std::vector<int> ranks = pushing_ranks();
  for (std::size_t server = 0; server < places_.size(); ++server) {
    push.name = "push to server " + std::to_string(server);
    pull.name = "pull from server " + std::to_string(server);
    push.phases.front().clear();
    pull.phases.front().clear();
    for (const int rank : ranks) {
      const Endpoint worker = options_.on_gpus ? gpu_of(rank) : host_of(rank);
      if (worker == places_[server]) continue;
      push.phases.front().push_back({worker, places_[server]});
      pull.phases.front().push_back({places_[server], worker});
    }
    visit(push);
    visit(pull);
  }
}

void PsSync::begin(int iteration, WorkerId /*worker*/) {
  iteration_ = iteration;
  variables_.begin(poster_);
}

void PsSync::forward(int layer, WorkerId /*worker*/) {
  variables_.gate(poster_, variables_.last_pulls(),
                  in_turn_ ? forward_ : of_layer_[static_cast<std::size_t>(layer)]);
}

void PsSync::gradient(TensorId tensor, WorkerId /*worker*/) {
  for (const int index : of_tensor_[static_cast<std::size_t>(tensor)]) {
    if (!variables_.arrived(index)) continue;
    const Flight flight{index, variables_.pull(index)};
    if (in_turn_) {
      held_.push_back(flight);
      continue;
    }
    poster_.post(launch_marker("gradients ready"), [this, flight] { ready(flight); });
  }
}

void PsSync::finish(WorkerId /*worker*/) {
  if (!held_.empty()) {
    poster_.post(launch_marker("gradients ready"), [this, held = std::exchange(held_, {})] {
      for (const Flight& flight : held) ready(flight);
    });
  }
  poster_.post(worker_step(0));
  if (!options_.layer_wait) poster_.post(Gate{.until = variables_.pulls()});
}

LaneItem PsSync::item(const Flight& flight, const char* label, Poster::Then then) const {
  const VariableGroup& moved = group(flight.group);
  return {.size = moved.size, .tensors = moved.tensors, .label = label, .then = std::move(then)};
}

void PsSync::ready(const Flight& flight) {
  LaneItem copy = options_.on_gpus
                      ? item(flight, "push", [this, flight] { pushed(flight); })
                      : item(flight, "copy to host", [this, flight] { on_host(flight); });
  copy.key =
      static_cast<std::uint64_t>(options_.on_gpus ? push_to(group(flight.group).server) : to_hosts);
  off_gpus_.add(std::move(copy));
}

void PsSync::on_host(const Flight& flight) {
  // Thread 0 sums in the workers' machines, alike in all of them.
  const int local = (job_.world_size + pushers() - 1) / pushers();
  if (local == 1) {
    push(flight);
    return;
  }
  poster_.post(HostWork{.thread = 0,
                        .time = add_n_passes(local) *
                                group(flight.group).sum_time(options_.servers.server_cpu),
                        .label = "local sum"},
               [this, flight] { push(flight); });
}

void PsSync::push(const Flight& flight) {
  const VariableGroup& moved = group(flight.group);
  LaneItem push = item(flight, "push", [this, flight] { pushed(flight); });
  push.beside = call_work(moved, true);
  push_[static_cast<std::size_t>(moved.server)].add(std::move(push));
}

void PsSync::pushed(const Flight& flight) {
  if (options_.on_gpus) return updated(flight);
  // A server has a thread that adds all but the first; the update is one more pass.
  const VariableGroup& moved = group(flight.group);
  poster_.post(HostWork{.thread = 1 + moved.server,
                        .time = pushers() * moved.sum_time(options_.servers.server_cpu),
                        .label = "sum and update"},
               [this, flight] { updated(flight); });
}

void PsSync::updated(const Flight& flight) {
  if (!options_.barrier) {
    pull(flight);
    return;
  }
  updated_[static_cast<std::size_t>(flight.group)] = flight;
  if (++updates_ < groups_.size()) return;
  updates_ = 0;
  for (const int index : pull_order(options_.servers, forward_, iteration_, 0)) {
    pull(updated_[static_cast<std::size_t>(index)]);
  }
}

void PsSync::pull(const Flight& flight) {
  const VariableGroup& moved = group(flight.group);
  LaneItem pull =
      item(flight, "pull", [this, flag = flight.flag] { poster_.post(Raise{.flag = flag}); });
  pull.beside = call_work(moved, false);
  pull.key = static_cast<std::uint64_t>(pull_from(moved.server));
  (in_turn_ ? off_gpus_ : pull_[static_cast<std::size_t>(moved.server)]).add(std::move(pull));
}

PsSync::Callers PsSync::callers_of(const Endpoint& server) const {
  const int machine = server.place == Endpoint::Place::server
                          ? job_.server_machine[static_cast<std::size_t>(server.index)]
                          : machine_of(job_, server.index);
  Callers callers;
  std::vector<int> of_process;
  for (const int rank : pushing_ranks()) {
    const int own = machine_of(job_, rank);
    if (options_.worker == ServedWorker::machine && own == machine) continue;
    ++callers.all;
    const auto process =
        static_cast<std::size_t>(options_.worker == ServedWorker::gpu ? rank : own);
    if (process >= of_process.size()) of_process.resize(process + 1);
    callers.of_process = std::max(callers.of_process, ++of_process[process]);
  }
  return callers;
}

Operations PsSync::call_work(const VariableGroup& group, bool pushes) const {
  const RemoteCalls& calls = options_.servers.calls;
  const Callers& callers = callers_[static_cast<std::size_t>(group.server)];
  if (!calls.cost() || callers.all == 0) return {};
  const auto variables = static_cast<std::int64_t>(group.tensors.size());
  // Behind the threads that sum: those of the workers' processes, alike in all, and each server's.
  const int first = 1 + static_cast<int>(places_.size());
  const RemoteCalls::End worker{.thread = first, .times = 1.0 * callers.of_process};
  const RemoteCalls::End remote{.thread = first + 2 * (1 + group.server),
                                .times = 1.0 * callers.all};
  auto work = pushes ? calls.work(worker, remote, variables, group.size)
                     : calls.work(remote, worker, variables, group.size);
  if (!pushes) work.back().time += static_cast<double>(variables) * options_.variable_time;
  return {work.begin(), work.end()};
}

std::vector<PlanGroup> PsSync::plan(int /*iteration*/) const {
  return plan_of(job_, groups_);
}

}  // namespace gradwire
