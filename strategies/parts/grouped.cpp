#include "strategies/parts/grouped.hpp"

#include <fmt/format.h>

namespace gradwire {

Grouped::Grouped(std::function<TensorGroups(int iteration)> groups, const GroupedOptions& options,
                 JobView job)
    : groups_of_(std::move(groups)),
      options_(options),
      job_(std::move(job)),
      group_of_(job_.tensors.size()) {}

void Grouped::start(int iteration) {
  groups_ = groups_of_(iteration);
  missing_.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    missing_.push_back(static_cast<int>(groups_[g].size()));
    for (const TensorId id : groups_[g]) group_of_[static_cast<std::size_t>(id)] = g;
  }
}

void Grouped::reduce(std::size_t group, Operations& operations) {
  Collective collective{.tensors = groups_[group], .label = fmt::format("group {}", group)};
  for (const TensorId id : groups_[group]) collective.size += job_.size_of(job_.tensor(id));
  in_flight_.push_back(posted_ + static_cast<OperationId>(operations.size()));
  operations.emplace_back(std::move(collective));
}

Operations Grouped::on_event(Seconds /*now*/, const Event& event) {
  Operations operations;
  if (const auto* begin = std::get_if<IterationStart>(&event)) {
    start(begin->iteration);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (!job_.synchronises(hook->micro_batch)) return {};
    const std::size_t group = group_of_[static_cast<std::size_t>(hook->tensor)];
    if (options_.copies && groups_[group].size() > 1) {
      operations.emplace_back(copy_of(job_, job_.tensor(hook->tensor), "copy into buffer"));
    }
    if (--missing_[group] == 0 && !options_.after_backward) reduce(group, operations);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (!job_.synchronises(done->micro_batch)) return {};
    if (options_.after_backward) {
      for (std::size_t g = 0; g < groups_.size(); ++g) reduce(g, operations);
    }
    operations.emplace_back(Gate{std::exchange(in_flight_, {})});
  }
  posted_ += static_cast<OperationId>(operations.size());
  return operations;
}

std::vector<PlanGroup> Grouped::plan(int iteration) const {
  std::vector<PlanGroup> plan;
  for (auto& tensors : groups_of_(iteration)) {
    PlanGroup group{.tensors = std::move(tensors)};
    for (const TensorId id : group.tensors) group.elements += job_.tensor(id).elements;
    group.size = job_.size_of(group.elements);
    plan.push_back(std::move(group));
  }
  return plan;
}

TensorGroups groups_by_elements(const JobView& job, std::int64_t threshold) {
  TensorGroups groups;
  std::int64_t elements = 0;
  bool open = false;
  for (auto id = static_cast<TensorId>(job.tensors.size()); id-- > 0;) {
    if (!open) groups.emplace_back();
    groups.back().push_back(id);
    elements += job.tensor(id).elements;
    open = elements < threshold;
    if (!open) elements = 0;
  }
  return groups;
}

}  // namespace gradwire
