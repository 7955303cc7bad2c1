#include "strategies/servers/byteps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/job_places.hpp"
#include "strategies/servers/byteps_async.hpp"

namespace gradwire {
namespace {

/// Between two looks at a handle (WaitAndClear of byteps torch/ops.cc).
constexpr Seconds handle_sleep{1e-3};

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

TensorGroups tensors_of(const std::vector<BytePsUnit>& units) {
  TensorGroups groups;
  for (const BytePsUnit& unit : units) groups.push_back(unit.tensors);
  return groups;
}

}  // namespace

StrategyMaker BytePs::read(Knobs& knobs) {
  return [options = read_byteps(knobs)](const JobView& job) -> std::unique_ptr<Strategy> {
    if (options.enable_async) return std::make_unique<BytePsAsync>(options, job);
    return std::make_unique<BytePs>(options, job);
  };
}

BytePs::BytePs(const BytePsOptions& options, const JobView& job)
    : SharedStepStrategy(job),
      options_(options),
      layout_(job),
      bound_(partition_bound(options.partition_bytes, layout_.local_size())),
      units_(byteps_units(options, job)),
      tasks_(byteps_tasks(units_, options, bound_, layout_)),
      groups_(job, tensors_of(units_)),
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
  const ParameterServerSpec spec = server_spec();
  for (int server = 0; server < layout_.servers(); ++server) {
    servers_.emplace_back(poster_,
                          spec.of(server, layout_.colocated(server) && !options_.enable_ipc));
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
      fmt::format("'reduce_roots' names GPU {}; expected at most {}, the last of a machine", last,
                  layout_.local_size_min() - 1));
}

ParameterServerSpec BytePs::server_spec() const {
  const bool blocking = options_.server_engine_blocking;
  return {.push_exchange = first_server_exchange(options_),
          .first_thread = first_server_thread,
          .threads = blocking ? 1 : static_cast<int>(options_.server_engine_thread),
          .together = bound_,
          // COPY_FIRST of one push, SUM_RECV of the others.
          .passes = static_cast<double>(layout_.machines()),
          .sum_rate = options_.sum_rate,
          .loopback = options_.loopback_bandwidth,
          .request = 2 * job_.message_latency,
          .blocking = blocking,
          .coded = job_.coded,
          .codes = job_.coded};
}

Traits BytePs::traits() const {
  const bool crosses = options_.cross_barrier && active();
  Traits traits = {.dynamic = true, .forward_hooks = crosses, .own_optimizer = crosses};
  const bool waits = active() && !crosses && options_.framework == "pytorch";
  if (waits) traits.late_step = 0.5 * handle_sleep;
  return traits;
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
  return visited_exchanges(*this);
}

void BytePs::visit_exchanges(const ExchangeVisit& visit) const {
  if (!through_host()) return;
  if (scatters()) {
    visit(layout_.copy_to_host(options_.part()));
    visit(layout_.copy_to_gpus(options_.part()));
  }
  for (const int root : options_.reduce_roots) {
    visit(layout_.copy_from_root(root));
    visit(layout_.copy_to_root(root));
  }
  if (distributed()) layout_.visit_machines(visit, options_.connections, options_.part());
}

std::vector<PlanGroup> BytePs::plan(int /*iteration*/) const {
  return byteps_plan(units_, tasks_, distributed());
}

void BytePs::begin(int /*iteration*/, WorkerId /*worker*/) {
  if (!options_.cross_barrier) pulled_.add(units_.size());
}

void BytePs::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (options_.hook_time > Seconds{}) {
    poster_.post(HostWork{HostWork::launcher, options_.hook_time, "hook"});
  }
  if (!groups_.of_one_each()) {
    poster_.post(copy_of(job_, job_.tensor(tensor), "copy into merged buffer"));
  }
  const auto complete = groups_.arrived(tensor);
  if (!complete) return;
  const BytePsUnit& unit = units_[*complete];
  auto flight = std::make_shared<Flight>(Flight{.unit = *complete, .parts = unit.tasks.size()});
  if (options_.cross_barrier) {
    flight->flag = poster_.post(Flag{unit.name});
    for (const TensorId id : unit.tensors) gates_.wait_for(id, flight->flag);
  }
  poster_.post(launch_marker("ready"), [this, flight] { ready(flight); });
}

void BytePs::forward(int layer, WorkerId /*worker*/) {
  gates_.post(layer, poster_);
}

void BytePs::finish(WorkerId /*worker*/) {
  if (!options_.cross_barrier) pulled_.gate(poster_, "all pulled");
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
  return {.size = partition.size,
          .tensors = unit.tensors,
          .label = what + byteps_label(unit, partition),
          .then = std::move(then),
          .key = partition.key};
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
    server.push(item(move, "", [this, move] { summed(move); }));
  });
}

void BytePs::summed(const Move& move) {
  stage(pull_thread, move, [this, move] {
    auto& server = servers_[static_cast<std::size_t>(task(move).server)];
    server.pull(item(move, "", [this, move] { pulled(move); }));
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
    pulled_.end(poster_);
    return;
  }
  // The poller sees it and updates the parameter; then the forward pre-hook finds its lock free.
  poster_.post(HostWork{poller_thread, options_.update_time, "update"},
               [this, flag = flight.flag] { poster_.post(Raise{flag}); });
}

}  // namespace gradwire
