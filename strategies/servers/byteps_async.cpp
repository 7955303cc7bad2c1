#include "strategies/servers/byteps_async.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Exchanges of a machine; then the servers', a push and a pull each.
enum Stage : int {
  reduce_ring,
  stage_copy_out,
  stage_copy_in,
  broadcast_ring,
  stages_before_servers
};
/// Host threads of a server: its handler, and a colocated worker's loopback.
constexpr int threads_of_server = 2;
/// Those of a machine: one a stage.
constexpr int threads_of_machine = 5;

void check(const JobView& job, const ServerLayout& layout) {
  if (layout.machines() == 1) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "BytePS is asynchronous between machines only (DMLC_NUM_WORKER > 1); "
        "expected a job on several");
  }
  const auto& all = job.machine_of_all;
  if (std::set<int>(all.begin(), all.end()).size() < all.size()) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "asynchronous BytePS of several GPUs a machine is not approximated; "
        "expected at most as many workers as are simulated one by one");
  }
}

}  // namespace

BytePsAsync::Machine::Machine(Poster& poster, int first_exchange, Bytes nccl_group)
    : reduce(poster, messages_by(first_exchange + reduce_ring), nccl_group),
      to_host(poster, messages_by(first_exchange + stage_copy_out)),
      to_gpus(poster, messages_by(first_exchange + stage_copy_in)),
      broadcast(poster, messages_by(first_exchange + broadcast_ring), nccl_group) {}

BytePsAsync::BytePsAsync(const BytePsOptions& options, const JobView& job)
    : StepStrategy(job), options_(options), layout_(job), units_(byteps_units(options, job)) {
  check(job, layout_);
  const Bytes bound = partition_bound(options.partition_bytes, layout_.local_size());
  tasks_ = byteps_tasks(units_, options, bound, layout_);
  additions_.resize(tasks_.size());
  for (const TensorInfo& tensor : job.tensors) model_ += job.size_of(tensor);
  for (const int root : first_ranks(job)) {
    const std::size_t number = machines_.size();
    Machine& machine =
        machines_.emplace_back(poster_, first_exchange(number), options.nccl_group_size * bound);
    for (const int rank : all_ranks(job)) {
      if (gradwire::machine_of(job, rank) == gradwire::machine_of(job, root)) {
        machine.ranks.push_back(rank);
      }
    }
    machine.pulled.resize(tasks_.size());
    const ParameterServerSpec spec{.push_exchange = first_exchange(number) + stages_before_servers,
                                   .together = bound,
                                   .passes = job.stands_for,
                                   .sum_rate = options.sum_rate,
                                   .loopback = options.loopback_bandwidth,
                                   .codes = job.coded};
    for (int server = 0; server < layout_.servers(); ++server) {
      const bool sockets = holds_server(machine, server) && !options.enable_ipc;
      machine.servers.emplace_back(poster_, spec.of(server, sockets));
    }
  }
  machine_of_.resize(static_cast<std::size_t>(job.world_size));
  for (std::size_t number = 0; number < machines_.size(); ++number) {
    for (const int rank : machines_[number].ranks) {
      machine_of_[static_cast<std::size_t>(rank)] = number;
    }
  }
}

bool BytePsAsync::holds_server(const Machine& machine, int server) const {
  // Without servers in the job there is one on each of its machines.
  const auto at = static_cast<std::size_t>(server);
  if (job_.server_machine.empty()) return &machine == &machines_[at];
  return job_.server_machine[at] == gradwire::machine_of(job_, machine.ranks.front());
}

int BytePsAsync::first_exchange(std::size_t machine) const {
  return static_cast<int>(machine) * (stages_before_servers + 2 * layout_.servers());
}

int BytePsAsync::switch_ranks(const Machine& machine) const {
  return ranks_of_part(static_cast<int>(machine.ranks.size()), options_.part());
}

Traits BytePsAsync::traits() const {
  return {.dynamic = true,
          .own_optimizer = true,
          .independent_workers = true,
          .workers_wait = true,
          .exactness = Exactness::stale};
}

std::vector<Exchange> BytePsAsync::exchanges() const {
  std::vector<Exchange> exchanges;
  const auto places = server_places(job_);
  std::vector<Bytes> loads(places.size());
  for (const BytePsTask& task : tasks_) loads[static_cast<std::size_t>(task.server)] += task.size;
  for (const Machine& machine : machines_) {
    const int root = machine.ranks.front();
    const auto size = static_cast<std::size_t>(switch_ranks(machine));
    const double part = 1.0 / static_cast<double>(size);
    // The last switch's ranks add the others' buffers to theirs, from where all goes on.
    const Endpoint sum = host_of(machine.ranks[machine.ranks.size() - size]);
    const auto named = [&](const char* what) {
      return Exchange{.name = fmt::format("{} of machine {}", what, machine_of(job_, root)),
                      .phases = {{}}};
    };
    Exchange ring = named("ring");
    Exchange down = named("copy to host");
    Exchange up = named("copy to GPUs");
    for (std::size_t i = 0; i < machine.ranks.size(); ++i) {
      const std::size_t first = i - i % size;
      const Endpoint gpu = gpu_of(machine.ranks[i]);
      const Endpoint next = gpu_of(machine.ranks[first + (i + 1 - first) % size]);
      if (size > 1) ring.phases[0].push_back({gpu, next, 1 - part});
      down.phases[0].push_back({gpu, host_of(machine.ranks[first]), part});
      up.phases[0].push_back({sum, gpu, part});
    }
    exchanges.insert(exchanges.end(), {ring, down, up, ring});
    for (std::size_t server = 0; server < places.size(); ++server) {
      Exchange push = named("push");
      push.name += fmt::format(" to server {}", server);
      push.phases[0].push_back({sum, places[server]});
      push.connections = options_.connections;
      push.load = static_cast<double>(loads[server].count());
      exchanges.push_back(push);
      exchanges.push_back(
          reversed(push, fmt::format("{} from server {}", named("pull").name, server)));
    }
  }
  return exchanges;
}

void BytePsAsync::finish(WorkerId rank) {
  const std::size_t number = machine_of_[static_cast<std::size_t>(rank)];
  const int tensors = static_cast<int>(job_.tensors.size());
  const auto kernels = [&](int passes, const char* label) {
    return DeviceWork{
        .traffic = passes * model_, .kernels = tensors, .label = label, .worker = rank};
  };
  poster_.post(kernels(2, "keep weights"));
  poster_.post(OptimizerStep{.label = "update", .worker = rank});
  poster_.post(kernels(3, "differences"));
  if (options_.hook_time > Seconds{}) {
    poster_.post(HostWork{HostWork::launcher, tensors * options_.hook_time, "push_pull", rank});
  }
  const OperationId over = poster_.post(Flag{"all pulled"});
  machines_[number].over.push_back(over);
  poster_.post(launch_marker("differences ready", rank),
               [this, number] { difference_ready(number); });
  poster_.post(Gate{{over}, rank});
}

void BytePsAsync::difference_ready(std::size_t machine) {
  Machine& here = machines_[machine];
  if (++here.ready < here.ranks.size()) return;
  here.ready = 0;
  here.under_way = tasks_.size();
  for (const BytePsUnit& unit : units_) {
    for (const std::size_t task : unit.tasks) {
      const auto then = [this, machine, task] { reduced(machine, task); };
      if (switch_ranks(here) > 1) {
        here.reduce.add(item(task, "REDUCE ", then));
      } else {
        then();
      }
    }
  }
}

void BytePsAsync::on_thread(std::size_t machine, Thread thread, Seconds time, Poster::Then then) {
  if (time == Seconds{}) {
    then();
    return;
  }
  const int first = threads_of_server * layout_.servers();
  poster_.post(
      HostWork{first + threads_of_machine * static_cast<int>(machine) + static_cast<int>(thread),
               time, "stage"},
      std::move(then));
}

LaneItem BytePsAsync::item(std::size_t task, const std::string& what, Poster::Then then) const {
  const BytePsUnit& unit = units_[tasks_[task].unit];
  return {.size = tasks_[task].size,
          .tensors = unit.tensors,
          .label = what + byteps_label(unit, tasks_[task]),
          .then = std::move(then),
          .key = tasks_[task].key};
}

void BytePsAsync::reduced(std::size_t machine, std::size_t task) {
  on_thread(machine, Thread::d2h, options_.stage_time, [this, machine, task] {
    machines_[machine].to_host.add(item(task, "COPYD2H ", [this, machine, task] {
      on_thread(machine, Thread::pcie_reduce,
                pcie_reduce_passes(options_, layout_) * (tasks_[task].size / options_.sum_rate),
                [this, machine, task] { on_host(machine, task); });
    }));
  });
}

void BytePsAsync::on_host(std::size_t machine, std::size_t task) {
  on_thread(machine, Thread::push, options_.stage_time, [this, machine, task] {
    auto& server = machines_[machine].servers[static_cast<std::size_t>(tasks_[task].server)];
    server.push(item(task, "", [this, machine, task] { added(machine, task); }));
  });
}

void BytePsAsync::added(std::size_t machine, std::size_t task) {
  missed_ += additions_[task] - machines_[machine].pulled[task];
  ++additions_[task];
  ++updates_;
  poster_.post(HostWork{HostWork::no_thread, 2 * job_.message_latency, "acknowledge, request"},
               [this, machine, task] {
                 on_thread(machine, Thread::pull, options_.stage_time,
                           [this, machine, task] { pulled(machine, task); });
               });
}

void BytePsAsync::pulled(std::size_t machine, std::size_t task) {
  Machine& here = machines_[machine];
  here.pulled[task] = additions_[task];
  auto& server = here.servers[static_cast<std::size_t>(tasks_[task].server)];
  LaneItem pull = item(task, "", [this, machine, task] {
    on_thread(machine, Thread::h2d, options_.stage_time, [this, machine, task] {
      Machine& puller = machines_[machine];
      puller.to_gpus.add(item(task, "COPYH2D ", [this, machine, task] {
        const auto then = [this, machine] { machine_pulled(machine); };
        if (switch_ranks(machines_[machine]) > 1) {
          machines_[machine].broadcast.add(item(task, "BROADCAST ", then));
        } else {
          then();
        }
      }));
    });
  });
  server.pull(std::move(pull));
}

void BytePsAsync::machine_pulled(std::size_t machine) {
  Machine& here = machines_[machine];
  if (--here.under_way > 0) return;
  for (const OperationId flag : std::exchange(here.over, {})) poster_.post(Raise{flag});
}

std::vector<PlanGroup> BytePsAsync::plan(int /*iteration*/) const {
  return byteps_plan(units_, tasks_, true);
}

std::optional<double> BytePsAsync::staleness() const {
  if (updates_ == 0) return 0;
  return static_cast<double>(missed_) / static_cast<double>(updates_);
}

}  // namespace gradwire
