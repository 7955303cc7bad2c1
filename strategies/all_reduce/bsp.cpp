#include "strategies/all_reduce/bsp.hpp"

#include <utility>

#include "strategies/horovod/merged_horovod.hpp"

namespace gradwire {

Bsp::Bsp(JobView job) : job_(std::move(job)) {
  all_.tensors = job_.gradient_order;
  for (const auto& tensor : job_.tensors) all_.elements += tensor.elements;
  all_.size = job_.size_of(all_.elements);
}

StrategyMaker Bsp::read(Knobs& knobs) {
  if (const auto core = read_over_horovod(knobs)) {
    return [core = *core](const JobView& job) {
      return std::make_unique<MergedHorovod>(core, job, one_group(job));
    };
  }
  return [](const JobView& job) { return std::make_unique<Bsp>(job); };
}

Operations Bsp::on_event(Seconds /*now*/, const Event& event) {
  Operations operations;
  if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (!job_.synchronises(hook->micro_batch)) return {};
    const auto& tensor = job_.tensors[static_cast<std::size_t>(hook->tensor)];
    operations.emplace_back(copy_of(job_, tensor, "copy into buffer"));
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    operations.emplace_back(Collective{
        .size = all_.size, .tensors = all_.tensors, .label = "all-reduce of all gradients"});
    operations.emplace_back(Gate{{posted_}});
  }
  posted_ += static_cast<OperationId>(operations.size());
  return operations;
}

std::vector<PlanGroup> Bsp::plan(int /*iteration*/) const {
  return {all_};
}

}  // namespace gradwire
