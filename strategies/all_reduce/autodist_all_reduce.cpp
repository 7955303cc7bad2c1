#include "strategies/all_reduce/autodist_all_reduce.hpp"

#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace gradwire {

AutodistAllReduce::AutodistAllReduce(const AutodistOptions& options, JobView job)
    : options_(options), job_(std::move(job)) {
  const auto chunk = static_cast<std::size_t>(options_.chunk_size);
  groups_.resize((job_.tensors.size() + chunk - 1) / chunk);
  for (const TensorId id : job_.gradient_order) {
    PlanGroup& group = groups_[group_of(id)];
    group.tensors.push_back(id);
    group.elements += job_.tensor(id).elements;
    group.size = group.size + job_.size_of(job_.tensor(id));
  }
  for (const PlanGroup& group : groups_) missing_.push_back(group.tensors.size());
}

StrategyMaker AutodistAllReduce::read(Knobs& knobs) {
  static const std::vector<std::string> specs = {"NCCL", "RING", "AUTO"};
  AutodistOptions options;
  options.chunk_size = knobs.count(
      "chunk_size", options.chunk_size, 1, std::numeric_limits<int>::max(),
      "variables of a group; AllReduce(chunk_size=128). examples/benchmark/imagenet.py: vgg16 25, "
      "resnet101 200, inceptionv3 30, others 512");
  // AUTO: CollectiveParamResolverLocal takes the ring unless the session asks for NCCL.
  options.spec = knobs.choice("all_reduce_spec", "NCCL", specs,
                              "AllReduce(all_reduce_spec='NCCL'). Before TensorFlow 1.15 and 2.1 "
                              "it has no effect: RING. AUTO is RING, as AutoDist's sessions do "
                              "not set collective_nccl") == "NCCL"
                     ? AllReduceSpec::nccl
                     : AllReduceSpec::ring;
  return
      [options](const JobView& job) { return std::make_unique<AutodistAllReduce>(options, job); };
}

std::size_t AutodistAllReduce::group_of(TensorId tensor) const {
  return static_cast<std::size_t>(tensor) / static_cast<std::size_t>(options_.chunk_size);
}

Bytes AutodistAllReduce::summing(Bytes size) const {
  if (options_.spec == AllReduceSpec::nccl) return 2 * size;
  // Of n parts a rank adds n - 1, which reads two and writes one, and divides one in place.
  const std::int64_t ranks = job_.world_size;
  return Bytes{size.count() / ranks * (3 * (ranks - 1) + 2)};
}

void AutodistAllReduce::send(std::size_t group, Operations& operations) {
  all_reduces_.push_back(posted_ + static_cast<OperationId>(operations.size()));
  operations.emplace_back(Collective{.size = groups_[group].size,
                                     .tensors = groups_[group].tensors,
                                     .label = "all-reduce of a group"});
}

Operations AutodistAllReduce::on_event(Seconds /*now*/, const Event& event) {
  if (job_.world_size <= 1) return {};
  Operations operations;
  if (const auto* hook = std::get_if<HookFired>(&event)) {
    const std::size_t group = group_of(hook->tensor);
    if (!job_.synchronises(hook->micro_batch) || --missing_[group] > 0) return {};
    missing_[group] = groups_[group].tensors.size();
    if (options_.spec == AllReduceSpec::ring) {
      complete_.push_back(group);
    } else {
      send(group, operations);
    }
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    for (const std::size_t group : std::exchange(complete_, {})) send(group, operations);
    operations.emplace_back(Gate{std::exchange(all_reduces_, {})});
    for (const PlanGroup& group : groups_) {
      operations.emplace_back(
          DeviceWork{.traffic = summing(group.size), .label = "mean of a group"});
    }
  }
  posted_ += static_cast<OperationId>(operations.size());
  return operations;
}

std::vector<PlanGroup> AutodistAllReduce::plan(int /*iteration*/) const {
  return groups_;
}

}  // namespace gradwire
