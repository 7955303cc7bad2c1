#include "strategies/all_reduce/wfbp.hpp"

#include <utility>

#include "strategies/horovod/merged_horovod.hpp"

namespace gradwire {

StrategyMaker Wfbp::read(Knobs& knobs) {
  if (const auto core = read_over_horovod(knobs)) {
    return [core = *core](const JobView& job) {
      return std::make_unique<MergedHorovod>(core, job, a_group_each(job));
    };
  }
  return [](const JobView& job) { return std::make_unique<Wfbp>(job); };
}

Operations Wfbp::on_event(Seconds /*now*/, const Event& event) {
  Operations operations;
  if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (!job_.synchronises(hook->micro_batch)) return {};
    const auto& tensor = job_.tensors[static_cast<std::size_t>(hook->tensor)];
    in_flight_.push_back(posted_);
    operations.emplace_back(
        Collective{.size = job_.size_of(tensor), .tensors = {hook->tensor}, .label = tensor.name});
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    operations.emplace_back(Gate{std::exchange(in_flight_, {})});
  }
  posted_ += static_cast<OperationId>(operations.size());
  return operations;
}

std::vector<PlanGroup> Wfbp::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const auto& tensor = job_.tensors[static_cast<std::size_t>(id)];
    groups.push_back({{id}, tensor.elements, job_.size_of(tensor)});
  }
  return groups;
}

}  // namespace gradwire
