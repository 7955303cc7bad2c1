#include "strategies/all_reduce/average_gradients.hpp"

#include "strategies/parts/gradient_groups.hpp"

namespace gradwire {
namespace {

std::vector<PlanGroup> groups_of(const AverageGradientsOptions& options, const JobView& job) {
  if (options.flatten) return {group_of(job, registration_order(job))};
  TensorGroups each;
  for (const TensorId tensor : registration_order(job)) each.push_back({tensor});
  return plan_of(job, each);
}

}  // namespace

AverageGradients::AverageGradients(const AverageGradientsOptions& options, const JobView& job)
    : StepStrategy(job), options_(options), groups_(groups_of(options, job)) {}

StrategyMaker AverageGradients::read(Knobs& knobs) {
  AverageGradientsOptions options;
  knobs.read("flatten", options.flatten,
             "all gradients in one tensor, mmcv's allreduce_grads(coalesce=True); false: each by "
             "itself, as in PyTorch's tutorial");
  knobs.read("call_time", options.call_time,
             "Python of dist.all_reduce and its enqueueing, where `host_time` is 1; assumed");
  return [options](const JobView& job) { return std::make_unique<AverageGradients>(options, job); };
}

void AverageGradients::finish(WorkerId worker) {
  for (const PlanGroup& group : groups_) {
    poster_.post(HostWork{.thread = HostWork::launcher,
                          .time = job_.python_time * options_.call_time,
                          .label = "dist.all_reduce",
                          .worker = worker});
    average(group);
  }
}

void AverageGradients::average(const PlanGroup& group) {
  const Bytes moved = 2 * group.size;  // read and written
  if (options_.flatten) poster_.post(DeviceWork{.traffic = moved, .label = "flatten"});
  poster_.post(Gate{{poster_.post(
      Collective{.size = group.size,
                 .tensors = group.tensors,
                 .label = options_.flatten ? "all-reduce of all gradients"
                                           : job_.tensor(group.tensors.front()).name})}});
  poster_.post(DeviceWork{.traffic = moved, .label = "divide"});
  if (!options_.flatten) return;
  poster_.post(DeviceWork{
      .traffic = moved, .kernels = static_cast<int>(group.tensors.size()), .label = "copy back"});
}

std::vector<PlanGroup> AverageGradients::plan(int /*iteration*/) const {
  return groups_;
}

}  // namespace gradwire
