#include "strategies/all_reduce/apex_ddp.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace gradwire {
namespace {

/// Integers of the bucket structure, sent by rank 0: sync_bucket_structure's IntTensor.
constexpr std::int64_t integer_size = 4;

void add(PlanGroup& group, const JobView& job, TensorId id) {
  group.tensors.push_back(id);
  group.elements += job.tensor(id).elements;
  group.size = job.size_of(group.elements);
}

}  // namespace

ApexDdp::ApexDdp(const ApexDdpOptions& options, const JobView& job)
    : options_(options),
      job_(job),
      bucket_of_(job.tensors.size(), 0),
      streams_(static_cast<std::size_t>(options.num_allreduce_streams)) {
  bool open = false;
  for (const TensorId id : job_.gradient_order) {
    add(all_, job_, id);
    if (!open) buckets_.emplace_back();
    add(buckets_.back().group, job_, id);
    bucket_of_[static_cast<std::size_t>(id)] = buckets_.size() - 1;
    open = buckets_.back().group.elements < options_.message_size;
  }
}

StrategyMaker ApexDdp::read(Knobs& knobs) {
  static const std::string origin = "apex.parallel.DistributedDataParallel";
  constexpr int streams_max = 16;
  constexpr int most = std::numeric_limits<int>::max();
  ApexDdpOptions options;
  options.message_size =
      knobs.count("message_size", options.message_size, 1, most, origin + "; elements");
  options.delay_allreduce = knobs.yes("delay_allreduce", options.delay_allreduce, origin);
  options.num_allreduce_streams = static_cast<int>(
      knobs.count("num_allreduce_streams", options.num_allreduce_streams, 1, streams_max, origin));
  options.retain_allreduce_buffers =
      knobs.yes("retain_allreduce_buffers", options.retain_allreduce_buffers, origin);
  options.allreduce_always_fp32 =
      knobs.yes("allreduce_always_fp32", options.allreduce_always_fp32, origin);
  options.gradient_average = knobs.yes("gradient_average", options.gradient_average, origin);
  options.gradient_predivide_factor = static_cast<int>(
      knobs.count("gradient_predivide_factor", options.gradient_predivide_factor, 1, most, origin));
  return [options](const JobView& job) { return std::make_unique<ApexDdp>(options, job); };
}

std::vector<CollectiveUse> ApexDdp::collectives() const {
  return {{CollectiveKind::all_reduce}, {CollectiveKind::broadcast}};
}

Operations ApexDdp::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    iteration_ = start->iteration;
    next_bucket_ = 0;
    for (auto& bucket : buckets_) {
      bucket.missing = static_cast<int>(bucket.group.tensors.size());
    }
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch) && !delays()) gradient_hook(hook->tensor);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish();
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    poster_.done(ended->operation);
  }
  return poster_.take();
}

Bytes ApexDdp::reduced_size(const PlanGroup& group) const {
  return options_.allreduce_always_fp32 ? Bytes{group.elements * gradient_element_size}
                                        : group.size;
}

DeviceWork ApexDdp::before(const PlanGroup& group) const {
  DeviceWork work{.kernels = 0, .label = "cast and divide bucket"};
  const Bytes flat = reduced_size(group);
  if (flat != group.size) {
    work.traffic += group.size + flat;
    ++work.kernels;
  }
  if (options_.gradient_predivide_factor != 1) {
    work.traffic += 2 * flat;
    ++work.kernels;
  }
  return work;
}

DeviceWork ApexDdp::after(const PlanGroup& group) const {
  DeviceWork work{.kernels = 0, .label = "divide and copy back"};
  const Bytes flat = reduced_size(group);
  if (options_.gradient_average) {
    work.traffic += 2 * flat;
    ++work.kernels;
  }
  if (flat != group.size) {
    work.traffic += flat + group.size;
    ++work.kernels;
  }
  if (!options_.retain_allreduce_buffers) {
    work.traffic += 2 * group.size;  // multi_tensor_scale: all tensors in one
    ++work.kernels;
  }
  return work;
}

void ApexDdp::gradient_hook(TensorId tensor) {
  --buckets_[bucket_of_[static_cast<std::size_t>(tensor)]].missing;
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0) {
    flatten(next_bucket_++);
  }
}

void ApexDdp::flatten(std::size_t bucket) {
  ++outstanding_;
  DeviceWork work{.traffic = 2 * buckets_[bucket].group.size, .label = "flatten bucket"};
  work.notify = true;
  poster_.post(std::move(work), [this, bucket] {
    const std::size_t stream = bucket % streams_.size();
    streams_[stream].waiting.push_back(bucket);
    start_next(stream);
  });
}

void ApexDdp::start_next(std::size_t stream) {
  Stream& lane = streams_[stream];
  if (lane.busy || lane.waiting.empty()) return;
  lane.busy = true;
  const std::size_t bucket = lane.waiting.front();
  lane.waiting.erase(lane.waiting.begin());
  DeviceWork work = before(buckets_[bucket].group);
  if (work.kernels == 0) {
    reduce(bucket, stream);
    return;
  }
  work.stream = DeviceStream::side;
  poster_.post(std::move(work), [this, bucket, stream] { reduce(bucket, stream); });
}

void ApexDdp::reduce(std::size_t bucket, std::size_t stream) {
  const PlanGroup& group = buckets_[bucket].group;
  Collective collective{.size = reduced_size(group),
                        .tensors = group.tensors,
                        .label = fmt::format("bucket {}", bucket),
                        .ready = Collective::Ready::at_once,
                        .stream = static_cast<int>(stream) + 1};
  poster_.post(std::move(collective), [this, bucket, stream] {
    DeviceWork work = after(buckets_[bucket].group);
    if (work.kernels == 0) {
      end(stream);
      return;
    }
    work.stream = DeviceStream::side;
    poster_.post(std::move(work), [this, stream] { end(stream); });
  });
}

void ApexDdp::end(std::size_t stream) {
  streams_[stream].busy = false;
  start_next(stream);
  if (--outstanding_ > 0 || all_reduced_ < 0) return;
  poster_.post(Raise{.flag = std::exchange(all_reduced_, -1)});
}

void ApexDdp::reduce_all() {
  if (!options_.delay_allreduce) {
    const auto integers = static_cast<std::int64_t>(1 + buckets_.size() + job_.tensors.size());
    poster_.post(Gate{{poster_.post(Collective{.kind = CollectiveKind::broadcast,
                                               .size = Bytes{integers * integer_size},
                                               .tensors = {},
                                               .label = "bucket structure"})}});
  }
  poster_.post(DeviceWork{.traffic = 2 * all_.size, .label = "flatten"});
  if (const DeviceWork work = before(all_); work.kernels > 0) poster_.post(work);
  poster_.post(Gate{{poster_.post(Collective{.size = reduced_size(all_),
                                             .tensors = all_.tensors,
                                             .label = "all-reduce of all gradients"})}});
  if (const DeviceWork work = after(all_); work.kernels > 0) poster_.post(work);
}

void ApexDdp::finish() {
  if (delays()) {
    reduce_all();
    return;
  }
  if (outstanding_ == 0) return;
  all_reduced_ = poster_.post(Flag{.label = "all buckets are reduced"});
  poster_.post(Gate{{all_reduced_}});
}

std::vector<PlanGroup> ApexDdp::plan(int iteration) const {
  if (options_.delay_allreduce || iteration == 0) return {all_};
  std::vector<PlanGroup> groups;
  groups.reserve(buckets_.size());
  for (const auto& bucket : buckets_) groups.push_back(bucket.group);
  return groups;
}

}  // namespace gradwire
