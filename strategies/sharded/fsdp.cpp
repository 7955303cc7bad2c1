#include "strategies/sharded/fsdp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "strategies/sharded/clipping.hpp"

namespace gradwire {
namespace {

/// _FreeEventQueue's limit of all-gathers in flight.
constexpr std::size_t in_flight_most = 2;

}  // namespace

std::vector<Exchange> Fsdp::exchanges() const {
  return host_ ? host_->exchanges() : std::vector<Exchange>{};
}

std::int64_t Fsdp::own() const {
  std::int64_t elements = 0;
  for (const Unit& unit : units_) elements += own(unit);
  return elements;
}

bool Fsdp::gathers() const {
  return options_.sharding >= Sharding::shard_grad_op;
}

Traits Fsdp::traits() const {
  // Gradients come in the parameters' type.
  const bool cast = options_.reduce_bytes < options_.param_bytes;
  const bool apart = options_.outer.sync_every > 0 && replicas_ > 1;
  return {.dynamic = true,
          .forward_hooks = true,
          .backward_hooks = true,
          .own_optimizer = true,
          .exactness = apart  ? Exactness::stale
                       : cast ? Exactness::lossy
                              : Exactness::exact,
          .takes_no_compression =
              replicates() && !options_.per_parameter
                  ? "FullyShardedDataParallel.register_comm_hook refuses hybrid strategies; "
                    "expected 'reduce_dtype', or fsdp2 with 'data_parallel_shard_degree'"
                  : ""};
}

std::vector<CollectiveUse> Fsdp::collectives() const {
  std::vector<CollectiveUse> uses;
  if (options_.sharding == Sharding::none) {
    uses = {{CollectiveKind::all_reduce, group_}};
  } else {
    uses = {{CollectiveKind::all_gather, group_}, {CollectiveKind::reduce_scatter, group_}};
    if (backward_ != group_) uses.push_back({CollectiveKind::all_gather, backward_});
  }
  if (options_.hybrid) uses.push_back({CollectiveKind::all_reduce, across_});
  if (adds_norms()) uses.push_back({CollectiveKind::all_reduce, group_});
  return uses;
}

Operations Fsdp::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    iteration_ = start->iteration;
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    forward_hook(*forward);
  } else if (const auto* backward = std::get_if<BackwardStart>(&event)) {
    backward_hook(*backward);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    const std::size_t unit = unit_of_[static_cast<std::size_t>(hook->tensor)];
    if (--units_[unit].missing == 0) post_backward(unit, hook->micro_batch);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    backward_done(done->micro_batch);
  } else {
    operation_ended(std::get<OperationDone>(event).operation);
  }
  start_collectives();
  return out_.take();
}

OperationId Fsdp::marker(const char* label, Poster::Then then) {
  const OperationId id = out_.post(launch_marker(label), std::move(then));
  order_.expect(id);
  return id;
}

// ---- hooks ------------------------------------------------------------------------------------

void Fsdp::forward_hook(const ForwardStart& event) {
  if (event.layer == 0) begin_pass(event.micro_batch);
  for (Unit& unit : units_) {
    if (unit.in_forward && unit.last_layer < event.layer) post_forward(unit);
  }
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const bool enters = units_[u].root ? event.layer == 0 : units_[u].first_layer == event.layer;
    if (enters) pre_forward(u);
  }
}

void Fsdp::begin_pass(int micro_batch) {
  for (Unit& unit : units_) unit.missing = static_cast<int>(unit.tensors.size());
  in_backward_ = false;
  if (micro_batch > 0 || !gathers()) return;
  start_ = marker("ready");
  started_ = false;
}

void Fsdp::run_hooks(std::size_t tensors) {
  const Seconds time = job_.python_time * (options_.hook_time + static_cast<double>(tensors) *
                                                                    options_.tensor_hook_time);
  if (options_.sharding == Sharding::optimizer || time <= Seconds{}) return;
  out_.post(HostWork{.thread = HostWork::launcher, .time = time, .label = "FSDP hooks"});
}

void Fsdp::pre_forward(std::size_t index) {
  Unit& unit = units_[index];
  run_hooks(unit.tensors.size());
  if (!gathers()) return;
  unit.in_forward = !unit.root;
  unshard(index);
  wait_for(unit);
  if (options_.live) return prefetch_live(index);
  // FSDP1 knows the order of units once it has seen an iteration; FSDP2 from its options.
  if (!options_.forward_prefetch || (iteration_ == 0 && !options_.per_parameter)) return;
  const std::size_t last = index + static_cast<std::size_t>(options_.forward_modules);
  for (std::size_t next = index + 1; next <= last && next < units_.size(); ++next) unshard(next);
}

void Fsdp::post_forward(Unit& unit) {
  unit.in_forward = false;
  if (options_.sharding == Sharding::full_shard && !unit.kept) reshard(unit);
}

void Fsdp::backward_hook(const BackwardStart& event) {
  if (!in_backward_) {
    in_backward_ = true;
    for (Unit& unit : units_) {
      if (unit.in_forward) post_forward(unit);
    }
    if (!units_.empty() && units_.front().root) pre_backward(0);
  }
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (!units_[u].root && units_[u].last_layer == event.layer) pre_backward(u);
  }
}

void Fsdp::pre_backward(std::size_t index) {
  run_hooks(units_[index].tensors.size() + units_[index].again);
  if (!gathers()) return;
  unshard(index);
  wait_for(units_[index]);
  if (options_.live) return prefetch_live(index);
  if (options_.backward_prefetch == BackwardPrefetch::backward_pre) prefetch_before(index);
}

void Fsdp::prefetch_before(std::size_t index) {
  // The root's forward ends last, so before its backward comes that of the last unit.
  const std::size_t next = units_[index].root ? units_.size() - 1 : index - 1;
  if (next >= units_.size() || units_[next].root) return;
  unshard(next);
}

void Fsdp::prefetch_live(std::size_t index) {
  if (iteration_ == 0) return;  // the trace is not complete
  const std::int64_t want = std::min(options_.live->prefetch, options_.live->most - live_);
  std::int64_t ahead = 0;
  const auto take = [&](std::size_t next) {
    if (ahead >= want || units_[next].unsharded) return;
    unshard(next);
    ahead += units_[next].gathered;
  };
  if (!in_backward_) {
    for (std::size_t next = index + 1; next < units_.size(); ++next) take(next);
  }
  // Behind the last unit's forward comes its backward.
  const bool goes_back = in_backward_ && !units_[index].root;
  for (std::size_t next = goes_back ? index : units_.size(); next-- > 0;) take(next);
}

void Fsdp::post_backward(std::size_t index, int micro_batch) {
  Unit& unit = units_[index];
  if (!options_.per_parameter) {
    out_.post(DeviceWork{.traffic = Bytes{2 * unit.elements * options_.param_bytes},
                         .label = "concatenate gradients"});
  }
  const bool last = job_.synchronises(micro_batch);
  const bool synchronises = last || !options_.no_sync;
  if (gathers()) {
    if (synchronises || options_.sharding == Sharding::full_shard) reshard(unit);
    if (options_.backward_prefetch == BackwardPrefetch::backward_post) prefetch_before(index);
  }
  if (options_.sharding == Sharding::optimizer ? last : synchronises) collect(index);
}

void Fsdp::wait_for_reductions() {
  if (reduced_ == reductions_issued_) return;
  const OperationId flag = out_.post(Flag{"gradients reduced"});
  out_.post(Gate{{flag}});
  waits_.push_back({reductions_issued_, flag});
}

void Fsdp::backward_done(int micro_batch) {
  flush_bucket();
  wait_for_reductions();
  if (!job_.synchronises(micro_batch)) return;
  const bool whole = options_.sharding == Sharding::none;
  if (adds_norms()) add_norms(group_, out_);
  if (host_) {
    host_->step(own());
  } else {
    out_.post(
        OptimizerStep{.share = whole ? 1 : share(), .label = whole ? "optimizer" : "update shard"});
  }
  gather_persistent();
  if (options_.sharding == Sharding::optimizer) gather_updated();
  outer_step();
}

void Fsdp::outer_step() {
  if (!options_.hybrid || replicates()) return;
  if ((iteration_ + 1) % options_.outer.sync_every != 0) return;
  const std::int64_t size = own() * gradient_element_size;
  // reads the shard and what it was, writes the difference
  out_.post(DeviceWork{.traffic = Bytes{3 * size}, .label = "pseudo-gradients"});
  out_.post(Gate{{out_.post(Collective{.size = Bytes{size},
                                       .tensors = job_.gradient_order,
                                       .label = "average of the islands",
                                       .communicator = across_})}});
  // reads their mean, momentum and the last outer parameters, writes the latter two and the shard
  out_.post(DeviceWork{.traffic = Bytes{6 * size}, .label = "outer step"});
}

// ---- parameters -------------------------------------------------------------------------------

Collective Fsdp::gather_of(const Unit& unit, bool in_backward) const {
  return {.kind = CollectiveKind::all_gather,
          .size = Bytes{unit.gathered * options_.param_bytes},
          .tensors = unit.tensors,
          .label = fmt::format("all-gather unit {}", &unit - units_.data()),
          .communicator = in_backward && !unit.root ? backward_ : group_,
          .ready = Collective::Ready::at_once,
          .stream = group_stream};
}

void Fsdp::unshard(std::size_t index) {
  Unit& unit = units_[index];
  if (unit.unsharded || unit.gathered == 0) return;
  unit.unsharded = true;
  live_ += unit.gathered;
  unit.copied_out = false;
  std::vector<OperationId> after = {start_};
  if (options_.limit_all_gathers && frees_.size() >= in_flight_most) {
    after.push_back(frees_.front());
    frees_.pop_front();
  }
  const bool prepared = casts() || fetches();
  const Ticket ticket = order_.issue(gather_of(unit, in_backward_), after, prepared);
  unit.gather = ticket;
  gathers_[ticket] = {.unit = index};
  if (!prepared) return;
  if (started_) {
    prepare_shard(index, ticket);
  } else {
    waiting_shards_.emplace_back(index, ticket);
  }
}

void Fsdp::prepare_shard(std::size_t index, Ticket ticket) {
  if (!fetches()) return cast_shard(index, ticket);
  host_->fetch(units_[index].gathered / ranks_,
               [this, index, ticket] { cast_shard(index, ticket); });
}

void Fsdp::cast_shard(std::size_t index, Ticket ticket) {
  if (!casts()) return order_.release(ticket);
  Kernels cast;
  cast.add(shard(units_[index]) * (options_.stored_bytes + options_.param_bytes));
  run_beside(cast, options_.per_parameter ? "copy in shards" : "cast shard",
             [this, ticket] { order_.release(ticket); });
}

void Fsdp::wait_for(Unit& unit) {
  gate_for(unit);
  if (!options_.per_parameter || std::exchange(unit.copied_out, true)) return;
  out_.post(DeviceWork{.traffic = Bytes{2 * (unit.padded + unit.across) * options_.param_bytes},
                       .kernels = 1 + unit.across_tensors,
                       .label = "copy out parameters"});
}

void Fsdp::gate_for(const Unit& unit) {
  const auto gather = unit.gather ? gathers_.find(*unit.gather) : gathers_.end();
  if (gather == gathers_.end()) return;  // it has ended
  if (gather->second.operation >= 0) {
    out_.post(Gate{{gather->second.operation}});
    return;
  }
  if (gather->second.flag < 0) {
    gather->second.flag = out_.post(Flag{fmt::format("unit {} gathered", &unit - units_.data())});
  }
  out_.post(Gate{{gather->second.flag}});
}

void Fsdp::reshard(Unit& unit) {
  if (unit.unsharded) live_ -= unit.gathered;
  unit.unsharded = false;
  if (options_.limit_all_gathers) frees_.push_back(marker("freed"));
}

void Fsdp::gather_persistent() {
  if (persistent_ == 0) return;
  out_.post(Gate{{out_.post(Collective{.kind = CollectiveKind::all_gather,
                                       .size = Bytes{persistent_ * options_.param_bytes},
                                       .tensors = job_.gradient_order,
                                       .label = "all-gather persistent parameters",
                                       .communicator = group_})}});
}

void Fsdp::gather_updated() {
  const OperationId updated = marker("updated");
  for (std::size_t u = 0; u < units_.size(); ++u) {
    gathers_[order_.issue(gather_of(units_[u], false), {updated}, false)] = {.unit = u};
  }
  updated_ = out_.post(Flag{"parameters gathered"});
  out_.post(Gate{{updated_}});
}

void Fsdp::gathered(Ticket ticket) {
  const auto gather = gathers_.extract(ticket);
  if (gather.mapped().flag >= 0) out_.post(Raise{gather.mapped().flag});
  if (updated_ >= 0 && gathers_.empty()) out_.post(Raise{std::exchange(updated_, -1)});
}

void Fsdp::start_collectives() {
  order_.start([this](Ticket ticket, Collective collective) {
    const auto gather = gathers_.find(ticket);
    if (gather != gathers_.end()) {
      gather->second.operation =
          out_.post(std::move(collective), [this, ticket] { gathered(ticket); });
    } else {
      const std::size_t unit = reductions_.extract(ticket).mapped();
      out_.post(std::move(collective), [this, unit] { reduced(unit); });
    }
  });
}

void Fsdp::operation_ended(OperationId operation) {
  order_.ended(operation);
  if (operation == start_ && !started_) {
    started_ = true;
    for (const auto& [index, ticket] : std::exchange(waiting_shards_, {})) {
      prepare_shard(index, ticket);
    }
  }
  out_.done(operation);
}

void Fsdp::run_beside(const Kernels& kernels, const char* label, Poster::Then then) {
  if (kernels.count == 0) {
    then();
    return;
  }
  out_.post(DeviceWork{.traffic = kernels.traffic,
                       .kernels = kernels.count,
                       .label = label,
                       .stream = DeviceStream::side,
                       .notify = true},
            std::move(then));
}

}  // namespace gradwire
