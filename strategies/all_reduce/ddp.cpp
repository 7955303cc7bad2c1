#include "strategies/all_reduce/ddp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "sim/core/refusal.hpp"
#include "strategies/all_reduce/zero_redundancy.hpp"

namespace gradwire {
namespace {

/// Copy into the bucket and division became one kernel (at::mul_out, pull request 34904, June 2020)
/// with 1.6. Before, mark_variable_ready divided a bucket once, when it was full.
constexpr Release fused_division_from{1, 6};
/// The globally-unused map: one int32 a parameter.
constexpr std::int64_t unused_map_element_size = 4;
/// A batch-norm layer has three buffers: mean and variance, and an int64 counter of one element.
constexpr int buffers_per_norm = 3;
constexpr std::int64_t counter_size = 8;

DeviceWork kernels(Bytes traffic, int count, const char* label) {
  return {.traffic = traffic, .kernels = count, .label = label};
}

}  // namespace

std::vector<std::vector<TensorId>> assign_buckets(const JobView& job,
                                                  const std::vector<TensorId>& order,
                                                  const std::vector<Bytes>& limits) {
  assert(!limits.empty());
  std::vector<std::vector<TensorId>> buckets;
  std::vector<TensorId> open;
  Bytes size{0};
  for (const TensorId id : order) {
    open.push_back(id);
    size += job.size_of(job.tensor(id));
    if (size >= limits[std::min(buckets.size(), limits.size() - 1)]) {
      buckets.push_back(std::exchange(open, {}));
      size = Bytes{0};
    }
  }
  if (!open.empty()) buckets.push_back(std::move(open));
  return buckets;
}

Ddp::Ddp(const DdpOptions& options, const JobView& job)
    : options_(options), job_(job), bucket_of_(job.tensors.size()) {
  if (options.overlap_with_ddp == ZeroHook::none) return;
  if (!job.collectives_on_gpu) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::library,
        "'overlap_with_ddp' of ZeroRedundancyOptimizer needs NCCL, as other "
        "libraries may hang; expected 'library: nccl'");
  }
  zero_.emplace(options.overlap_with_ddp, options.shard_buckets, job);
}

std::vector<Ddp::Bucket> Ddp::buckets_of(int iteration) const {
  std::vector<Bytes> limits = {options_.first_bucket_cap, options_.bucket_cap};
  const auto rebuilt_from = options_.rebuilt_from();
  const bool rebuilt = rebuilt_from && iteration >= *rebuilt_from;
  if (!rebuilt && options_.starts_with_one_bucket()) {
    limits = {Bytes{std::numeric_limits<std::int64_t>::max()}};
  }
  std::vector<TensorId> order = job_.gradient_order;
  if (!rebuilt) std::iota(order.begin(), order.end(), 0);
  if (rebuilt && options_.set_last_bucket_cap) std::ranges::reverse(order);
  auto lists = assign_buckets(job_, order, limits);
  // Until rebuilt, the list made in registration order is reversed: the small bucket with the first
  // layers is reduced last.
  if (!rebuilt || options_.set_last_bucket_cap) std::ranges::reverse(lists);
  std::vector<Bucket> buckets;
  for (auto& list : lists) {
    Bucket bucket;
    for (const TensorId id : list) {
      bucket.size += job_.size_of(job_.tensors[static_cast<std::size_t>(id)]);
    }
    bucket.missing = static_cast<int>(list.size());
    bucket.tensors = std::move(list);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

OperationId Ddp::next_id(const Operations& operations) const {
  return posted_ + static_cast<OperationId>(operations.size());
}

bool Ddp::broadcasts() const {
  return options_.broadcast_buffers && job_.buffer_elements > 0;
}

std::vector<Bytes> Ddp::buffer_types() const {
  const std::int64_t norms = job_.buffer_tensors / buffers_per_norm;
  const Bytes statistics{(job_.buffer_elements - norms) * gradient_element_size};
  const Bytes counters{norms * counter_size};
  const Bytes all = statistics + counters;
  if (job_.buffer_bytes > Bytes{} && job_.buffer_bytes != all) return {job_.buffer_bytes};
  if (norms == 0) return {statistics};
  return {statistics, counters};
}

std::vector<CollectiveUse> Ddp::collectives() const {
  std::vector<CollectiveUse> uses = {{CollectiveKind::all_reduce}};
  if (broadcasts() || options_.optimizer == DdpOptimizer::zero_redundancy) {
    uses.push_back({CollectiveKind::broadcast});
  }
  return uses;
}

StrategyMaker Ddp::read_reducer(Knobs& knobs) {
  DdpOptions options = read_ddp_options(knobs);
  options.comm_hook = knobs.given("compression");
  return [options](const JobView& job) { return std::make_unique<Ddp>(options, job); };
}

StrategyMaker Ddp::read(Knobs& knobs) {
  DdpOptions options = read_ddp_options(knobs);
  read_ddp_surroundings(knobs, options);
  options.comm_hook = knobs.given("compression");
  return [options](const JobView& job) { return std::make_unique<Ddp>(options, job); };
}

Traits Ddp::traits() const {
  const bool elsewhere = options_.optimizer != DdpOptimizer::step;
  return {.dynamic = elsewhere, .own_optimizer = elsewhere, .shadows_ranks = options_.join};
}

/// The reducer's buckets are there beside the gradients, unless these are views of them
/// (reducer.cpp, initialize_bucket_views).
Holding Ddp::holding() const {
  Holding held;
  for (const Bucket& bucket : buckets_of(1)) held.buffers += bucket.size;
  if (options_.gradient_as_bucket_view) held.gradients = 0;
  if (options_.optimizer == DdpOptimizer::zero_redundancy) held.optimizer = 1.0 / job_.world_size;
  return held;
}

Phasing Ddp::phasing() const {
  return {.steady_from = zero_ ? options_.first_update() : 0};
}

ZeroOverlap::Post Ddp::poster(Operations& operations) const {
  return [this, &operations](Operation operation) {
    const OperationId id = next_id(operations);
    operations.push_back(std::move(operation));
    return id;
  };
}

Operations Ddp::on_event(Seconds now, const Event& event) {
  Operations operations;
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration, operations);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    // no_sync(): earlier backward passes only accumulate.
    if (job_.synchronises(hook->micro_batch)) gradient_hook(hook->tensor, operations);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish(operations);
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    if (overlaps_) {
      zero_->done(now, ended->operation, poster(operations));
    } else {
      bucket_ended(ended->operation, operations);
    }
  }
  posted_ += static_cast<OperationId>(operations.size());
  return operations;
}

void Ddp::start_iteration(int iteration, Operations& operations) {
  buckets_ = buckets_of(iteration);
  next_bucket_ = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const TensorId id : buckets_[b].tensors) {
      bucket_of_[static_cast<std::size_t>(id)] = static_cast<int>(b);
    }
  }
  delayed_ = options_.static_graph && iteration == 0;
  updates_.clear();
  overlaps_ = zero_ && iteration >= options_.first_update();
  if (overlaps_) {
    std::vector<std::vector<TensorId>> lists;
    for (const Bucket& bucket : buckets_) lists.push_back(bucket.tensors);
    zero_->start(lists);
  }
  if (options_.join) join(operations);
  if (broadcasts()) broadcast_buffers(operations);
}

void Ddp::join(Operations& operations) {
  // notify_join_context() and _check_global_requires_backward_grad_sync(); nobody waits for them,
  // as long as gradients are divided by the initial world size (the default). Else the first hook
  // of backward does (reducer.cpp, set_divide_factor).
  if (!options_.divide_by_initial_world_size) counted_ = next_id(operations);
  for (const char* label : {"join: who is still here", "join: is there a backward pass"}) {
    operations.emplace_back(
        Collective{.size = Bytes{gradient_element_size}, .tensors = {}, .label = label});
  }
  if (!broadcasts()) return;
  const OperationId common_rank = next_id(operations);
  operations.emplace_back(Collective{
      .size = Bytes{counter_size}, .tensors = {}, .label = "join: whose buffers to take"});
  operations.emplace_back(Gate{{common_rank}});
}

void Ddp::broadcast_buffers(Operations& operations) const {
  // _sync_buffers: tensors of one type are flattened, broadcast from rank 0, and copied back.
  const std::vector<Bytes> types = buffer_types();
  const Bytes traffic = 2 * std::accumulate(types.begin(), types.end(), Bytes{});
  operations.emplace_back(kernels(traffic, static_cast<int>(types.size()), "flatten buffers"));
  Gate gate;
  for (const Bytes size : types) {
    gate.until.push_back(next_id(operations));
    operations.emplace_back(Collective{.kind = CollectiveKind::broadcast,
                                       .size = size,
                                       .tensors = {},
                                       .label = "broadcast buffers"});
  }
  operations.emplace_back(std::move(gate));
  operations.emplace_back(kernels(traffic, job_.buffer_tensors, "unflatten buffers"));
}

void Ddp::gradient_hook(TensorId tensor, Operations& operations) {
  if (counted_) operations.emplace_back(Gate{{*std::exchange(counted_, std::nullopt)}});
  if (delayed_) return;
  Bucket& bucket = buckets_[static_cast<std::size_t>(bucket_of_[static_cast<std::size_t>(tensor)])];
  copy_in(tensor, operations);
  const bool divides = !hook_divides();
  if (--bucket.missing == 0 && divides && options_.version < fused_division_from) {
    operations.emplace_back(kernels(2 * bucket.size, 1, "divide"));
  }
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0) {
    launch(buckets_[next_bucket_++], operations);
  }
}

void Ddp::copy_in(TensorId tensor, Operations& operations) const {
  const Bytes size = job_.size_of(job_.tensor(tensor));
  // With a communication hook the hook divides, and only the copy is left here.
  if (!options_.gradient_as_bucket_view) {
    operations.emplace_back(kernels(2 * size, 1, "copy into bucket"));
  } else if (!hook_divides() && options_.version >= fused_division_from) {
    operations.emplace_back(kernels(2 * size, 1, "divide"));
  }
}

void Ddp::launch(Bucket& bucket, Operations& operations) {
  // default_hooks.py, _allreduce_fut: divided before it is reduced.
  if (zero_) operations.emplace_back(kernels(2 * bucket.size, 1, "divide"));
  if (overlaps_) {
    bucket.reduced = zero_->launch(poster(operations));
    return;
  }
  bucket.reduced = next_id(operations);
  operations.emplace_back(Collective{.size = bucket.size,
                                     .tensors = bucket.tensors,
                                     .label = fmt::format("bucket {}", &bucket - buckets_.data())});
  if (options_.optimizer != DdpOptimizer::in_backward) return;
  bucket.updated = next_id(operations);
  operations.emplace_back(Flag{.label = "bucket updated"});
}

void Ddp::bucket_ended(OperationId operation, Operations& operations) {
  if (const auto update = updates_.find(operation); update != updates_.end()) {
    operations.emplace_back(Raise{.flag = update->second});
    return;
  }
  const auto bucket = std::ranges::find(buckets_, operation, &Bucket::reduced);
  if (bucket == buckets_.end() || bucket->updated < 0) return;
  Bytes all{};
  for (const auto& one : buckets_) all += one.size;
  updates_[next_id(operations)] = bucket->updated;
  operations.emplace_back(DeviceWork{.kernels = 0,
                                     .label = "optimizer in backward",
                                     .time = static_cast<double>(bucket->size.count()) /
                                             static_cast<double>(all.count()) * job_.optimizer,
                                     .stream = DeviceStream::side,
                                     .notify = true});
}

void Ddp::finish(Operations& operations) {
  if (delayed_) {
    for (Bucket& bucket : buckets_) {
      for (const TensorId id : bucket.tensors) copy_in(id, operations);
      launch(bucket, operations);
    }
    next_bucket_ = buckets_.size();
  }
  assert(next_bucket_ == buckets_.size());
  // Of a static graph the map stays as the first iteration found it.
  if (options_.find_unused_parameters && (!options_.static_graph || delayed_)) {
    const auto count = static_cast<std::int64_t>(job_.tensors.size());
    operations.emplace_back(Collective{.size = Bytes{count * unused_map_element_size},
                                       .tensors = {},
                                       .label = "map of unused parameters"});
  }
  take_back(operations);
  finish_optimizer(operations);
}

void Ddp::take_back(Operations& operations) {
  // All broadcasts are waited for by backward, in its last hook, or by the last bucket's result.
  const std::size_t waits =
      options_.overlap_with_ddp == ZeroHook::interleaved ? buckets_.size() - 1 : 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    if (overlaps_ && b == waits) operations.emplace_back(Gate{{zero_->updated()}});
    operations.emplace_back(Gate{{bucket.reduced}});
    if (!options_.gradient_as_bucket_view) {
      operations.emplace_back(
          kernels(2 * bucket.size, static_cast<int>(bucket.tensors.size()), "copy back"));
    }
  }
}

void Ddp::finish_optimizer(Operations& operations) {
  if (options_.optimizer == DdpOptimizer::in_backward) {
    Gate gate;
    for (const Bucket& bucket : buckets_) gate.until.push_back(bucket.updated);
    operations.emplace_back(std::move(gate));
  } else if (options_.optimizer == DdpOptimizer::zero_redundancy && !zero_) {
    for (auto& operation :
         sharded_step(job_, options_.parameters_as_bucket_view, next_id(operations))) {
      operations.push_back(std::move(operation));
    }
  }
}

std::vector<PlanGroup> Ddp::plan(int iteration) const {
  std::vector<PlanGroup> groups;
  for (auto& bucket : buckets_of(iteration)) {
    groups.push_back({std::move(bucket.tensors), job_.elements_in(bucket.size), bucket.size});
  }
  return groups;
}

}  // namespace gradwire
