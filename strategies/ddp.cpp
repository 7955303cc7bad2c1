#include "strategies/ddp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <limits>
#include <numeric>

namespace gradwire {
namespace {

/// The oldest release whose bucketing is known here.
constexpr Release oldest_release{1, 4};
/// gradient_as_bucket_view: new in PyTorch 1.7 (release notes, distributed).
constexpr Release views_from{1, 7};
/// Buckets are made again in the order in which gradients arrived: rebuild_buckets, new in 1.7.
constexpr Release rebuilds_from{1, 7};
/// DDP_SET_LAST_BUCKET_CAP: Reducer::rebuild_buckets, new beside the tunable first bucket (pull
/// requests 62748 and 62770, August 2021); that 1.10 is the first release with it is assumed.
constexpr Release last_cap_from{1, 10};
/// A bucket_cap_mb that is set is the first bucket's as well (pull request 121640, May 2024); that
/// 2.4 is the first release with it is assumed.
constexpr Release one_cap_from{2, 4};
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

std::optional<Release> parse_release(std::string_view text) {
  Release release;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, release.major_number);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, release.minor_number);
  if (minor.ec != std::errc{} || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  return release;
}

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
    : options_(options), job_(job), bucket_of_(job.tensors.size()) {}

std::vector<Ddp::Bucket> Ddp::buckets_of(int iteration) const {
  const std::vector<Bytes> limits = {options_.first_bucket_cap, options_.bucket_cap};
  const bool rebuilt =
      options_.version >= rebuilds_from && !options_.find_unused_parameters && iteration > 0;
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
  if (broadcasts()) uses.push_back({CollectiveKind::broadcast});
  return uses;
}

DdpOptions Ddp::read_options(Knobs& knobs) {
  static const std::string origin = "torch.nn.parallel.DistributedDataParallel";
  DdpOptions options;
  const std::string version =
      knobs.text("version", "1.7", "PyTorch release whose bucketing is followed, from 1.4 on");
  const auto release = parse_release(version);
  if (!release || *release < oldest_release) {
    knobs.refuse("version", fmt::format("'version' is '{}'; expected a PyTorch release from 1.4 "
                                        "on, such as 1.7",
                                        version));
  }
  options.version = *release;
  options.bucket_cap = knobs.size("bucket_cap", options.bucket_cap, origin + "(bucket_cap_mb=25)");
  options.first_bucket_cap = knobs.size("first_bucket_cap", options.first_bucket_cap,
                                        "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES; from 2.4 "
                                        "on a bucket_cap that is set takes its place");
  if (options.version >= one_cap_from && knobs.given("bucket_cap")) {
    if (knobs.given("first_bucket_cap")) {
      knobs.refuse("first_bucket_cap",
                   "'first_bucket_cap' is not looked at beside 'bucket_cap' from PyTorch 2.4 on; "
                   "expected one of the two");
    }
    options.first_bucket_cap = options.bucket_cap;
  }
  options.set_last_bucket_cap = knobs.yes(
      "set_last_bucket_cap", options.set_last_bucket_cap,
      "DDP_SET_LAST_BUCKET_CAP=1, reducer.cpp, from 1.10 on: the small bucket comes last");
  if (options.set_last_bucket_cap && options.version < last_cap_from) {
    knobs.refuse("set_last_bucket_cap",
                 "'set_last_bucket_cap' came with PyTorch 1.10; expected false or a later version");
  }
  options.gradient_as_bucket_view = knobs.yes(
      "gradient_as_bucket_view", options.gradient_as_bucket_view, origin + ", from 1.7 on");
  if (options.gradient_as_bucket_view && options.version < views_from) {
    knobs.refuse("gradient_as_bucket_view",
                 "'gradient_as_bucket_view' came with PyTorch 1.7; expected false or a later "
                 "version");
  }
  options.find_unused_parameters =
      knobs.yes("find_unused_parameters", options.find_unused_parameters, origin);
  options.broadcast_buffers = knobs.yes("broadcast_buffers", options.broadcast_buffers, origin);
  return options;
}

StrategyMaker Ddp::read(Knobs& knobs) {
  DdpOptions options = read_options(knobs);
  options.comm_hook = knobs.given("compression");
  return [options](const JobView& job) { return std::make_unique<Ddp>(options, job); };
}

Operations Ddp::on_event(Seconds /*now*/, const Event& event) {
  Operations operations;
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration, operations);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    // no_sync(): earlier backward passes only accumulate.
    if (job_.synchronises(hook->micro_batch)) gradient_hook(hook->tensor, operations);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish(operations);
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
  if (!broadcasts()) return;
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
  const Bytes size = job_.size_of(job_.tensors[static_cast<std::size_t>(tensor)]);
  Bucket& bucket = buckets_[static_cast<std::size_t>(bucket_of_[static_cast<std::size_t>(tensor)])];
  // With a communication hook the hook divides, and only the copy is left here.
  const bool divides = !options_.comm_hook;
  const bool fused = options_.version >= fused_division_from;
  if (!options_.gradient_as_bucket_view) {
    operations.emplace_back(kernels(2 * size, 1, "copy into bucket"));
  } else if (divides && fused) {
    operations.emplace_back(kernels(2 * size, 1, "divide"));
  }
  if (--bucket.missing == 0 && divides && !fused) {
    operations.emplace_back(kernels(2 * bucket.size, 1, "divide"));
  }
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0) {
    launch(buckets_[next_bucket_++], operations);
  }
}

void Ddp::launch(Bucket& bucket, Operations& operations) {
  bucket.reduced = next_id(operations);
  operations.emplace_back(Collective{.size = bucket.size,
                                     .tensors = bucket.tensors,
                                     .label = fmt::format("bucket {}", &bucket - buckets_.data())});
}

void Ddp::finish(Operations& operations) {
  assert(next_bucket_ == buckets_.size());
  if (options_.find_unused_parameters) {
    const auto count = static_cast<std::int64_t>(job_.tensors.size());
    operations.emplace_back(Collective{.size = Bytes{count * unused_map_element_size},
                                       .tensors = {},
                                       .label = "map of unused parameters"});
  }
  for (const Bucket& bucket : buckets_) {
    operations.emplace_back(Gate{{bucket.reduced}});
    if (!options_.gradient_as_bucket_view) {
      operations.emplace_back(
          kernels(2 * bucket.size, static_cast<int>(bucket.tensors.size()), "copy back"));
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
