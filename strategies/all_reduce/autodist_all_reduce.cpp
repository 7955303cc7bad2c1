#include "strategies/all_reduce/autodist_all_reduce.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace gradwire {

namespace {

std::vector<PlanGroup> groups_of(const JobView& job, std::int64_t chunk_size) {
  const auto chunk = static_cast<std::size_t>(chunk_size);
  TensorGroups groups((job.tensors.size() + chunk - 1) / chunk);
  std::vector<PlanGroup> sparse;
  for (const TensorId id : job.gradient_order) {
    if (job.is_sparse(id)) {
      sparse.push_back(group_of_rows(job, id));
    } else {
      groups[static_cast<std::size_t>(id) / chunk].push_back(id);
    }
  }
  std::erase_if(groups, [](const auto& tensors) { return tensors.empty(); });
  std::vector<PlanGroup> plan = plan_of(job, groups);
  plan.insert(plan.end(), sparse.begin(), sparse.end());
  return plan;
}

}  // namespace

AutodistAllReduce::AutodistAllReduce(const AutodistOptions& options, const JobView& job)
    : SharedStepStrategy(job),
      options_(options),
      groups_(job, groups_of(job, options.chunk_size)) {}

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

Bytes AutodistAllReduce::summing(Bytes size) const {
  if (options_.spec == AllReduceSpec::nccl) return 2 * size;
  // Of n parts a rank adds n - 1, which reads two and writes one, and divides one in place.
  const std::int64_t ranks = job_.world_size;
  return Bytes{size.count() / ranks * (3 * (ranks - 1) + 2)};
}

std::vector<CollectiveUse> AutodistAllReduce::collectives() const {
  auto uses = SharedStepStrategy::collectives();
  if (std::ranges::any_of(groups_.all(), [this](const auto& group) { return sparse(group); })) {
    uses.push_back({CollectiveKind::all_gather});
  }
  return uses;
}

bool AutodistAllReduce::sparse(const PlanGroup& group) const {
  return job_.is_sparse(group.tensors.front());
}

void AutodistAllReduce::send(std::size_t group) {
  if (sparse(groups_[group])) {
    for (Collective& gather : row_gathers(job_, groups_[group].tensors.front())) {
      all_reduces_.push_back(poster_.post(std::move(gather)));
    }
    return;
  }
  all_reduces_.push_back(poster_.post(Collective{.size = groups_[group].size,
                                                 .tensors = groups_[group].tensors,
                                                 .label = "all-reduce of a group"}));
}

void AutodistAllReduce::gradient(TensorId tensor, WorkerId /*worker*/) {
  const auto group = groups_.arrived(tensor);
  if (!group) return;
  if (options_.spec == AllReduceSpec::ring) {
    complete_.push_back(*group);
  } else {
    send(*group);
  }
}

void AutodistAllReduce::finish(WorkerId /*worker*/) {
  for (const std::size_t group : std::exchange(complete_, {})) send(group);
  poster_.post(Gate{std::exchange(all_reduces_, {})});
  for (const PlanGroup& group : groups_.all()) {
    if (sparse(group)) continue;
    poster_.post(DeviceWork{.traffic = summing(group.size), .label = "mean of a group"});
  }
}

}  // namespace gradwire
