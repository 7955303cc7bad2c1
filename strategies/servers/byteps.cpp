#include "strategies/servers/byteps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/servers/byteps_async.hpp"

namespace gradwire {
namespace {

/// Exchanges: two for each root (one where all scatter), then the servers', two each.
int copies_of(const BytePsOptions& options) {
  return std::max(static_cast<int>(options.reduce_roots.size()), 1);
}
constexpr int copy_out(int root) {
  return 2 * root;
}
constexpr int copy_in(int root) {
  return 2 * root + 1;
}
int first_server_exchange(const BytePsOptions& options) {
  return 2 * copies_of(options);
}

Seconds time_of(Bytes size, BytesPerSecond rate, double times) {
  return times * (size / rate);
}

}  // namespace

StrategyMaker BytePs::read(Knobs& knobs) {
  return [options = read_byteps(knobs)](const JobView& job) -> std::unique_ptr<Strategy> {
    if (options.enable_async) return std::make_unique<BytePsAsync>(options, job);
    return std::make_unique<BytePs>(options, job);
  };
}

BytePs::BytePs(const BytePsOptions& options, const JobView& job)
    : options_(options),
      job_(job),
      layout_(job),
      bound_(partition_bound(options.partition_bytes, layout_.local_size())),
      units_(byteps_units(options, job)),
      tasks_(byteps_tasks(units_, options, bound_, layout_)),
      unit_of_(job.tensors.size()),
      gates_(job),
      pcie_reduce_(poster_, [this](const LaneItem& load) {
        const double passes = pcie_reduce_passes(options_, layout_);
        return HostWork{sum_thread, time_of(load.size, options_.sum_rate, passes), load.label};
      }) {
  check_roots();
  for (int root = 0; root < copies_of(options); ++root) {
    to_host_.emplace_back(poster_, messages_by(copy_out(root)));
    to_gpu_.emplace_back(poster_, messages_by(copy_in(root)));
  }
  credits_ = options_.scheduling_credit * bound_;
  missing_.resize(units_.size());
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const TensorId id : units_[unit].tensors) unit_of_[static_cast<std::size_t>(id)] = unit;
  }
  for (int server = 0; server < layout_.servers(); ++server) {
    servers_.emplace_back(poster_, server_spec(server));
  }
}

bool BytePs::distributed() const {
  return layout_.machines() > 1 || options_.force_distributed;
}

void BytePs::check_roots() const {
  if (scatters()) return;
  if (several_switches()) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("'reduce_roots' is for machines of one PCIe switch, and 'pcie_switch_size' {} "
                    "is below the {} GPUs of a machine; expected one of the two, as in BytePS",
                    options_.pcie_switch_size, layout_.local_size()));
  }
  const int last = *std::ranges::max_element(options_.reduce_roots);
  if (last < layout_.local_size_min()) return;
  throw UnsupportedConfiguration(
      UnsupportedConfiguration::Key::strategy,
      fmt::format("'reduce_roots' names GPU {}; expected at most {}, the last of a "
                  "machine",
                  last, layout_.local_size_min() - 1));
}

ParameterServerSpec BytePs::server_spec(int server) const {
  const bool blocking = options_.server_engine_blocking;
  const int threads = blocking ? 1 : static_cast<int>(options_.server_engine_thread);
  const bool shared_memory = options_.enable_ipc || !layout_.colocated(server);
  const int push_exchange = first_server_exchange(options_) + 2 * server;
  return {.push_exchange = push_exchange,
          .pull_exchange = push_exchange + 1,
          .first_thread = first_server_thread + server * (threads + 1),
          .threads = threads,
          .together = bound_,
          // COPY_FIRST of one push, SUM_RECV of the others.
          .passes = static_cast<double>(layout_.machines()),
          .sum_rate = options_.sum_rate,
          .loopback = shared_memory ? BytesPerSecond{0} : options_.loopback_bandwidth,
          .request = 2 * job_.message_latency,
          .blocking = blocking,
          .coded = job_.coded,
          .codes = job_.coded};
}

Traits BytePs::traits() const {
  const bool crosses = options_.cross_barrier && job_.world_size > 1;
  return {.dynamic = true, .forward_hooks = crosses, .own_optimizer = crosses};
}

std::vector<CollectiveUse> BytePs::collectives() const {
  if (!local()) return {};
  if (scatters()) {
    return {{CollectiveKind::reduce_scatter, families::node, options_.part()},
            {CollectiveKind::all_gather, families::node, options_.part()}};
  }
  std::vector<CollectiveUse> uses;
  for (const int root : options_.reduce_roots) {
    uses.push_back({CollectiveKind::reduce, families::node, options_.part(), root});
    uses.push_back({CollectiveKind::broadcast, families::node, options_.part(), root});
  }
  return uses;
}

std::vector<Exchange> BytePs::exchanges() const {
  if (!through_host()) return {};
  std::vector<Exchange> exchanges;
  if (scatters()) {
    exchanges = {layout_.copy_to_host(options_.part()), layout_.copy_to_gpus(options_.part())};
  }
  for (const int root : options_.reduce_roots) {
    exchanges.push_back(layout_.copy_from_root(root));
    exchanges.push_back(layout_.copy_to_root(root));
  }
  if (!distributed()) return exchanges;
  for (int server = 0; server < layout_.servers(); ++server) {
    exchanges.push_back(layout_.push(server, options_.connections, options_.part()));
    exchanges.push_back(layout_.pull(server, options_.connections, options_.part()));
  }
  return exchanges;
}

std::vector<PlanGroup> BytePs::plan(int /*iteration*/) const {
  return byteps_plan(units_, tasks_, distributed());
}

Operations BytePs::on_event(Seconds /*now*/, const Event& event) {
  if (job_.world_size == 1) return {};
  if (const auto* done = std::get_if<OperationDone>(&event)) {
    poster_.done(done->operation);
  } else if (std::holds_alternative<IterationStart>(event)) {
    start_iteration();
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch)) gradient_hook(hook->tensor);
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    if (forward->micro_batch == 0) forward_hook(forward->layer);
  } else if (const auto* end = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(end->micro_batch)) backward_done();
  }
  return poster_.take();
}

void BytePs::start_iteration() {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    missing_[unit] = static_cast<int>(units_[unit].tensors.size());
  }
  if (!options_.cross_barrier) in_flight_ = units_.size();
  barrier_ = -1;
}

void BytePs::gradient_hook(TensorId tensor) {
  const std::size_t index = unit_of_[static_cast<std::size_t>(tensor)];
  if (options_.hook_time > Seconds{}) {
    poster_.post(HostWork{HostWork::launcher, options_.hook_time, "hook"});
  }
  if (units_.size() < job_.tensors.size()) {
    poster_.post(copy_of(job_, job_.tensor(tensor), "copy into merged buffer"));
  }
  if (--missing_[index] > 0) return;
  auto flight =
      std::make_shared<Flight>(Flight{.unit = index, .parts = units_[index].tasks.size()});
  if (options_.cross_barrier) {
    flight->flag = poster_.post(Flag{units_[index].name});
    for (const TensorId id : units_[index].tensors) gates_.wait_for(id, flight->flag);
  }
  poster_.post(launch_marker("ready"), [this, flight] { ready(flight); });
}

void BytePs::forward_hook(int layer) {
  gates_.post(layer, poster_);
}

void BytePs::backward_done() {
  if (options_.cross_barrier) return;
  barrier_ = poster_.post(Flag{"all pulled"});
  poster_.post(Gate{{barrier_}});
  raise_if_all_done();
}

void BytePs::raise_if_all_done() {
  if (in_flight_ == 0 && barrier_ >= 0) poster_.post(Raise{std::exchange(barrier_, -1)});
}

void BytePs::ready(const FlightPtr& flight) {
  for (const std::size_t task : units_[flight->unit].tasks) {
    const Move move{task, flight};
    if (options_.scheduling_credit == 0) {
      reduce_queue_.push_back(move);
      continue;
    }
    const auto urgency = [this](const Move& waiting) {
      return std::pair{units_[tasks_[waiting.task].unit].priority, tasks_[waiting.task].key};
    };
    reduce_queue_.insert(std::ranges::upper_bound(reduce_queue_, urgency(move), {}, urgency), move);
  }
  run_nccl();
}

void BytePs::stage(int thread, const Move& move, Poster::Then then) {
  if (options_.stage_time > Seconds{}) {
    poster_.post(HostWork{thread, options_.stage_time, units_[task(move).unit].name},
                 std::move(then));
  } else {
    then();
  }
}

LaneItem BytePs::item(const Move& move, const std::string& what, Poster::Then then) const {
  const BytePsTask& partition = task(move);
  const BytePsUnit& unit = units_[partition.unit];
  return {partition.size, unit.tensors, what + byteps_label(unit, partition), 0, std::move(then)};
}

void BytePs::reduced(const Move& move) {
  if (options_.scheduling_credit > 0) credits_ += task(move).size;
  if (!through_host()) {
    broadcast_queue_.push_back(move);  // the caller goes on with NCCL
    return;
  }
  stage(d2h_thread, move, [this, move] {
    Lane& copies = to_host_[static_cast<std::size_t>(task(move).root)];
    copies.add(item(move, "COPYD2H ", [this, move] {
      if (several_switches()) {
        pcie_reduce_.add(item(move, "PCIE_REDUCE ", [this, move] { to_server(move); }));
      } else {
        to_server(move);
      }
    }));
  });
}

void BytePs::to_server(const Move& move) {
  stage(push_thread, move, [this, move] {
    if (!distributed()) {  // no more than a barrier between the machine's processes
      pulled(move);
      return;
    }
    auto& server = servers_[static_cast<std::size_t>(task(move).server)];
    server.push(item(move, "", [this, move] { summed(move); }), task(move).key);
  });
}

void BytePs::summed(const Move& move) {
  stage(pull_thread, move, [this, move] {
    auto& server = servers_[static_cast<std::size_t>(task(move).server)];
    server.pull(item(move, "", [this, move] { pulled(move); }), task(move).key);
  });
}

void BytePs::pulled(const Move& move) {
  stage(h2d_thread, move, [this, move] {
    Lane& copies = to_gpu_[static_cast<std::size_t>(task(move).root)];
    copies.add(item(move, "COPYH2D ", [this, move] { broadcast(move); }));
  });
}

void BytePs::broadcast(const Move& move) {
  broadcast_queue_.push_back(move);
  run_nccl();
}

void BytePs::finished(const Move& move) {
  Flight& flight = *move.flight;
  if (--flight.parts > 0) return;
  if (!options_.cross_barrier) {
    --in_flight_;
    raise_if_all_done();
    return;
  }
  // The poller sees it and updates the parameter; then the forward pre-hook finds its lock free.
  poster_.post(HostWork{poller_thread, options_.update_time, "update"},
               [this, flag = flight.flag] { poster_.post(Raise{flag}); });
}

}  // namespace gradwire
