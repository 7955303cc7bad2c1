#include "strategies/all_reduce/fixed_groups.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/horovod/merged_horovod.hpp"

namespace gradwire {
namespace {

StrategyMaker over_horovod_or(Knobs& knobs, TensorGroups (*groups)(const JobView&),
                              std::unique_ptr<Strategy> (*make)(const JobView&)) {
  if (const auto core = read_over_horovod(knobs)) {
    return [core = *core, groups](const JobView& job) {
      return std::make_unique<MergedHorovod>(core, job, groups(job));
    };
  }
  return make;
}

}  // namespace

Grouped::Grouped(std::function<TensorGroups(int iteration)> groups, const GroupedOptions& options,
                 const JobView& job)
    : StepStrategy(job),
      groups_of_(std::move(groups)),
      options_(options),
      groups_(job, groups_of_(0)) {}

void Grouped::begin(int iteration, WorkerId /*worker*/) {
  groups_ = GradientGroups(job_, groups_of_(iteration));
}

void Grouped::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (options_.copies && groups_.of(tensor).tensors.size() > 1) {
    poster_.post(copy_of(job_, job_.tensor(tensor), "copy into buffer"));
  }
  const auto complete = groups_.arrived(tensor);
  if (complete && !options_.after_backward) reduce(*complete);
}

void Grouped::finish(WorkerId /*worker*/) {
  if (options_.after_backward) {
    for (std::size_t group = 0; group < groups_.size(); ++group) reduce(group);
  }
  poster_.post(Gate{std::exchange(in_flight_, {})});
}

void Grouped::reduce(std::size_t index) {
  const PlanGroup& group = groups_[index];
  std::string label = group.tensors.size() > 1 ? fmt::format("group {}", index)
                                               : job_.tensor(group.tensors.front()).name;
  if (groups_.size() == 1) label = "all-reduce of all gradients";
  in_flight_.push_back(poster_.post(
      Collective{.size = group.size, .tensors = group.tensors, .label = std::move(label)}));
}

std::vector<PlanGroup> Grouped::plan(int iteration) const {
  return plan_of(job_, groups_of_(iteration));
}

std::unique_ptr<Strategy> make_bsp(const JobView& job) {
  return std::make_unique<Grouped>([all = one_group(job)](int) { return all; },
                                   GroupedOptions{.after_backward = true}, job);
}

std::unique_ptr<Strategy> make_wfbp(const JobView& job) {
  return std::make_unique<Grouped>([each = a_group_each(job)](int) { return each; },
                                   GroupedOptions{}, job);
}

StrategyMaker read_bsp(Knobs& knobs) {
  return over_horovod_or(knobs, one_group, make_bsp);
}

StrategyMaker read_wfbp(Knobs& knobs) {
  return over_horovod_or(knobs, a_group_each, make_wfbp);
}

TensorGroups groups_by_elements(const JobView& job, std::int64_t threshold) {
  auto groups = cut_into_groups(
      job, reverse_registration_order(static_cast<int>(job.tensors.size())),
      [threshold](const auto& cut, TensorId) { return cut.back().elements >= threshold; });
  TensorGroups lists;
  for (PlanGroup& group : groups) lists.push_back(std::move(group.tensors));
  return lists;
}

}  // namespace gradwire
