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

/// What two modules share, where the reducer's list has it with each.
std::vector<TensorId> listed_again(const DdpOptions& options, const JobView& job) {
  std::vector<TensorId> shared;
  if (!options.lists_shared_twice()) return shared;
  for (const TensorId id : registration_order(job)) {
    if (job.tensor(id).shared) shared.push_back(id);
  }
  return shared;
}

/// The job with these tensors again behind the others, whose gradients come with the first ones.
JobView with_again(JobView job, const std::vector<TensorId>& shared) {
  for (const TensorId id : shared) {
    const auto again = static_cast<TensorId>(job.tensors.size());
    job.tensors.push_back(job.tensor(id));
    job.gradient_order.insert(std::next(std::ranges::find(job.gradient_order, id)), again);
  }
  return job;
}

/// Sparse tensors are what Gloo alone reduces, by gathering them (ProcessGroupGloo.cpp,
/// AsyncSparseAllreduceWork); under NCCL a model has to make its gradients dense.
bool gathers_rows(const JobView& job, TensorId id) {
  return !job.collectives_on_gpu && job.is_sparse(id);
}

DeviceWork kernels(Bytes traffic, int count, const char* label) {
  return {.traffic = traffic, .kernels = count, .label = label};
}

}  // namespace

std::vector<PlanGroup> assign_buckets(const JobView& job, const std::vector<TensorId>& order,
                                      const std::vector<Bytes>& limits) {
  assert(!limits.empty());
  std::vector<PlanGroup> buckets;
  PlanGroup open;
  std::size_t closed = 0;  // of dense gradients
  for (const TensorId id : order) {
    if (gathers_rows(job, id)) {
      buckets.push_back(group_of_rows(job, id));
      continue;
    }
    open.tensors.push_back(id);
    open.elements += job.tensor(id).elements;
    open.size += job.size_of(job.tensor(id));
    if (open.size < limits[std::min(closed, limits.size() - 1)]) continue;
    buckets.push_back(std::exchange(open, {}));
    ++closed;
  }
  if (!open.tensors.empty()) buckets.push_back(std::move(open));
  return buckets;
}

Ddp::Ddp(const DdpOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      shared_(listed_again(options, job)),
      listed_(with_again(job, shared_)) {
  const bool in_hooks =
      options.optimizer == DdpOptimizer::in_backward || options.overlap_with_ddp != ZeroHook::none;
  if (in_hooks && job.clips_gradients) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "'gradient_clipping' needs the norm of all gradients before the first update, which "
        "'optimizer: in_backward' and 'overlap_with_ddp' make during backward; expected one "
        "without "
        "the other");
  }
  if (options.overlap_with_ddp == ZeroHook::none) return;
  if (!job.collectives_on_gpu) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::library,
        "'overlap_with_ddp' of ZeroRedundancyOptimizer needs NCCL, as other "
        "libraries may hang; expected 'library: nccl'");
  }
  zero_.emplace(options.overlap_with_ddp, options.shard_buckets, job_, poster_, now_);
}

std::vector<PlanGroup> Ddp::buckets_of(int iteration) const {
  std::vector<Bytes> limits = {options_.first_bucket_cap, options_.bucket_cap};
  const auto rebuilt_from = options_.rebuilt_from();
  const bool rebuilt = rebuilt_from && iteration >= *rebuilt_from;
  if (!rebuilt && options_.starts_with_one_bucket()) {
    limits = {Bytes{std::numeric_limits<std::int64_t>::max()}};
  }
  std::vector<TensorId> order = rebuilt ? listed_.gradient_order : registration_order(listed_);
  if (rebuilt && options_.set_last_bucket_cap) std::ranges::reverse(order);
  auto buckets = assign_buckets(listed_, order, limits);
  // Until rebuilt, the list made in registration order is sorted by the first tensors and reversed:
  // the small bucket with the first layers is reduced last.
  if (!rebuilt) {
    std::ranges::stable_sort(buckets, {},
                             [](const auto& bucket) { return bucket.tensors.front(); });
  }
  if (!rebuilt || options_.set_last_bucket_cap) std::ranges::reverse(buckets);
  return buckets;
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
  const auto gathered = [this](TensorId id) { return gathers_rows(listed_, id); };
  if (std::ranges::any_of(registration_order(listed_), gathered)) {
    uses.push_back({CollectiveKind::all_gather});
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
  return {.dynamic = elsewhere,
          .own_optimizer = elsewhere,
          .shadows_ranks = options_.join,
          .exchanges_rows = !job_.collectives_on_gpu};
}

/// The reducer's buckets are there beside the gradients, unless these are views of them
/// (reducer.cpp, initialize_bucket_views).
Holding Ddp::holding() const {
  Holding held;
  for (const PlanGroup& bucket : buckets_of(1)) held.buffers += bucket.size;
  if (options_.gradient_as_bucket_view) held.gradients = 0;
  if (options_.optimizer == DdpOptimizer::zero_redundancy) held.optimizer = 1.0 / job_.world_size;
  return held;
}

Phasing Ddp::phasing() const {
  return {.steady_from = zero_ ? options_.first_update() : 0};
}

void Ddp::begin(int iteration, WorkerId /*worker*/) {
  buckets_ = GradientGroups(listed_, buckets_of(iteration));
  reduced_.clear();
  updated_.clear();
  delayed_ = options_.static_graph && iteration == 0;
  overlaps_ = zero_ && iteration >= options_.first_update();
  if (overlaps_) {
    TensorGroups lists;
    for (const PlanGroup& bucket : buckets_.all()) lists.push_back(bucket.tensors);
    zero_->start(lists);
  }
  if (options_.join) join();
  if (broadcasts()) broadcast_buffers();
}

void Ddp::join() {
  // notify_join_context() and _check_global_requires_backward_grad_sync(); nobody waits for them,
  // as long as gradients are divided by the initial world size (the default). Else the first hook
  // of backward does (reducer.cpp, set_divide_factor).
  const auto all_reduce = [this](std::int64_t size, const char* label) {
    return poster_.post(Collective{.size = Bytes{size}, .tensors = {}, .label = label});
  };
  const OperationId here = all_reduce(gradient_element_size, "join: who is still here");
  all_reduce(gradient_element_size, "join: is there a backward pass");
  if (!options_.divide_by_initial_world_size) counted_ = here;
  if (!broadcasts()) return;
  poster_.post(Gate{{all_reduce(counter_size, "join: whose buffers to take")}});
}

void Ddp::broadcast_buffers() {
  // _sync_buffers: tensors of one type are flattened, broadcast from rank 0, and copied back.
  const std::vector<Bytes> types = buffer_types();
  const Bytes traffic = 2 * std::accumulate(types.begin(), types.end(), Bytes{});
  poster_.post(kernels(traffic, static_cast<int>(types.size()), "flatten buffers"));
  Gate gate;
  for (const Bytes size : types) {
    gate.until.push_back(poster_.post(Collective{.kind = CollectiveKind::broadcast,
                                                 .size = size,
                                                 .tensors = {},
                                                 .label = "broadcast buffers"}));
  }
  poster_.post(std::move(gate));
  poster_.post(kernels(traffic, job_.buffer_tensors, "unflatten buffers"));
}

void Ddp::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (counted_) poster_.post(Gate{{*std::exchange(counted_, std::nullopt)}});
  if (delayed_) return;
  arrive(tensor);
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (shared_[i] == tensor) arrive(static_cast<TensorId>(job_.tensors.size() + i));
  }
}

void Ddp::arrive(TensorId place) {
  copy_in(place);
  const auto full = buckets_.arrived(place);
  if (full && !gathers_rows(listed_, place) && !hook_divides() &&
      options_.version < fused_division_from) {
    poster_.post(kernels(2 * buckets_[*full].size, 1, "divide"));
  }
  while (const auto bucket = buckets_.next()) launch(*bucket);
}

std::vector<TensorId> Ddp::tensors_in(const PlanGroup& bucket) const {
  std::vector<TensorId> tensors = bucket.tensors;
  const auto own = static_cast<TensorId>(job_.tensors.size());
  for (TensorId& id : tensors) {
    if (id >= own) id = shared_[static_cast<std::size_t>(id - own)];
  }
  return tensors;
}

void Ddp::copy_in(TensorId tensor) {
  if (gathers_rows(listed_, tensor)) return;
  const Bytes size = job_.size_of(listed_.tensor(tensor));
  // With a communication hook the hook divides, and only the copy is left here.
  if (!options_.gradient_as_bucket_view) {
    poster_.post(kernels(2 * size, 1, "copy into bucket"));
  } else if (!hook_divides() && options_.version >= fused_division_from) {
    poster_.post(kernels(2 * size, 1, "divide"));
  }
}

void Ddp::launch(std::size_t index) {
  const PlanGroup& bucket = buckets_[index];
  // default_hooks.py, _allreduce_fut: divided before it is reduced.
  if (zero_) poster_.post(kernels(2 * bucket.size, 1, "divide"));
  if (overlaps_) {
    reduced_.push_back(zero_->launch());
    return;
  }
  const bool updates = options_.optimizer == DdpOptimizer::in_backward;
  Collective exchange = {
      .size = bucket.size, .tensors = tensors_in(bucket), .label = fmt::format("bucket {}", index)};
  if (const TensorId first = exchange.tensors.front(); gathers_rows(job_, first)) {
    auto [indices, rows] = row_gathers(job_, first);
    poster_.post(std::move(indices));
    exchange = std::move(rows);
  }
  reduced_.push_back(poster_.post(
      std::move(exchange), updates ? [this, index] { update_beside(index); } : Poster::Then{}));
  if (updates) updated_.push_back(poster_.post(Flag{.label = "bucket updated"}));
}

void Ddp::update_beside(std::size_t bucket) {
  Bytes all{};
  for (const PlanGroup& one : buckets_.all()) all += one.size;
  poster_.post(DeviceWork{.kernels = 0,
                          .label = "optimizer in backward",
                          .time = static_cast<double>(buckets_[bucket].size.count()) /
                                  static_cast<double>(all.count()) * job_.optimizer,
                          .stream = DeviceStream::side,
                          .notify = true},
               [this, flag = updated_[bucket]] { poster_.post(Raise{.flag = flag}); });
}

void Ddp::finish(WorkerId /*worker*/) {
  if (delayed_) {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      for (const TensorId id : buckets_[bucket].tensors) copy_in(id);
      launch(bucket);
    }
  }
  assert(reduced_.size() == buckets_.size());
  // Of a static graph the map stays as the first iteration found it.
  if (options_.find_unused_parameters && (!options_.static_graph || delayed_)) {
    const auto count = static_cast<std::int64_t>(listed_.tensors.size());
    poster_.post(Collective{.size = Bytes{count * unused_map_element_size},
                            .tensors = {},
                            .label = "map of unused parameters"});
  }
  take_back();
  finish_optimizer();
}

void Ddp::take_back() {
  // All broadcasts are waited for by backward, in its last hook, or by the last bucket's result.
  const std::size_t waits =
      options_.overlap_with_ddp == ZeroHook::interleaved ? buckets_.size() - 1 : 0;
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    if (overlaps_ && index == waits) poster_.post(Gate{{zero_->updated()}});
    poster_.post(Gate{{reduced_[index]}});
    const PlanGroup& bucket = buckets_[index];
    if (options_.gradient_as_bucket_view || gathers_rows(listed_, bucket.tensors.front())) continue;
    poster_.post(kernels(2 * bucket.size, static_cast<int>(bucket.tensors.size()), "copy back"));
  }
}

void Ddp::finish_optimizer() {
  if (options_.optimizer == DdpOptimizer::in_backward) {
    poster_.post(Gate{updated_});
  } else if (options_.optimizer == DdpOptimizer::zero_redundancy && !zero_) {
    post_sharded_step(job_, options_.parameters_as_bucket_view, poster_);
  }
}

std::vector<PlanGroup> Ddp::plan(int iteration) const {
  std::vector<PlanGroup> buckets = buckets_of(iteration);
  for (PlanGroup& bucket : buckets) bucket.tensors = tensors_in(bucket);
  return buckets;
}

}  // namespace gradwire
