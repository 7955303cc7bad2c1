#include "strategies/all_reduce/apex_ddp.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace gradwire {
namespace {

/// Integers of the bucket structure, sent by rank 0: sync_bucket_structure's IntTensor.
constexpr std::int64_t integer_size = 4;

}  // namespace

ApexDdp::ApexDdp(const ApexDdpOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      all_(group_of(job, job.gradient_order)),
      buckets_(job, cut_into_groups(job, job.gradient_order,
                                    [&](const auto& cut, TensorId) {
                                      return cut.back().elements >= options.message_size;
                                    })),
      streams_(static_cast<std::size_t>(options.num_allreduce_streams)) {}

StrategyMaker ApexDdp::read(Knobs& knobs) {
  static const std::string origin = "apex.parallel.DistributedDataParallel";
  constexpr int streams_max = 16;
  constexpr int most = std::numeric_limits<int>::max();
  ApexDdpOptions options;
  options.message_size =
      knobs.count("message_size", options.message_size, 1, most, origin + "; elements");
  knobs.read("delay_allreduce", options.delay_allreduce, origin);
  options.num_allreduce_streams = static_cast<int>(
      knobs.count("num_allreduce_streams", options.num_allreduce_streams, 1, streams_max, origin));
  knobs.read("retain_allreduce_buffers", options.retain_allreduce_buffers, origin);
  knobs.read("allreduce_always_fp32", options.allreduce_always_fp32, origin);
  knobs.read("gradient_average", options.gradient_average, origin);
  options.gradient_predivide_factor = static_cast<int>(
      knobs.count("gradient_predivide_factor", options.gradient_predivide_factor, 1, most, origin));
  return [options](const JobView& job) { return std::make_unique<ApexDdp>(options, job); };
}

std::vector<CollectiveUse> ApexDdp::collectives() const {
  return {{CollectiveKind::all_reduce}, {CollectiveKind::broadcast}};
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

void ApexDdp::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (delays()) return;
  buckets_.arrived(tensor);
  while (const auto bucket = buckets_.next()) flatten(*bucket);
}

void ApexDdp::flatten(std::size_t bucket) {
  outstanding_.add();
  DeviceWork work{.traffic = 2 * buckets_[bucket].size, .label = "flatten bucket"};
  work.notify = true;
  poster_.post(std::move(work), [this, bucket] {
    const std::size_t stream = bucket % streams_.size();
    streams_[stream].push(bucket);
    start_next(stream);
  });
}

void ApexDdp::start_next(std::size_t stream) {
  const auto bucket = streams_[stream].take(1);
  if (!bucket) return;
  poster_.post_in_turn(steps(*bucket, stream), [this, stream] {
    streams_[stream].ended();
    start_next(stream);
    outstanding_.end(poster_);
  });
}

Operations ApexDdp::steps(std::size_t bucket, std::size_t stream) const {
  const PlanGroup& group = buckets_[bucket];
  Operations steps;
  const auto beside = [&steps](DeviceWork work) {
    if (work.kernels == 0) return;
    work.stream = DeviceStream::side;
    steps.emplace_back(std::move(work));
  };
  beside(before(group));
  steps.emplace_back(Collective{.size = reduced_size(group),
                                .tensors = group.tensors,
                                .label = fmt::format("bucket {}", bucket),
                                .ready = Collective::Ready::at_once,
                                .stream = static_cast<int>(stream) + 1});
  beside(after(group));
  return steps;
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

void ApexDdp::finish(WorkerId /*worker*/) {
  if (delays()) {
    reduce_all();
  } else if (outstanding_.left() > 0) {
    outstanding_.gate(poster_, "all buckets are reduced");
  }
}

std::vector<PlanGroup> ApexDdp::plan(int iteration) const {
  if (options_.delay_allreduce || iteration == 0) return {all_};
  return buckets_.all();
}

}  // namespace gradwire
