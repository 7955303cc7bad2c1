#include "strategies/horovod/merged_horovod.hpp"

#include <utility>

namespace gradwire {

MergedHorovod::MergedHorovod(const HorovodOptions& options, const JobView& job,
                             std::vector<std::vector<TensorId>> groups)
    : job_(job),
      hook_time_(options.hook_time),
      queue_(options, job),
      group_of_(job.tensors.size(), 0) {
  for (auto& tensors : groups) {
    Group group;
    for (const TensorId id : tensors) {
      group.size += job_.size_of(job_.tensor(id));
      group_of_[static_cast<std::size_t>(id)] = groups_.size();
    }
    group.missing = static_cast<int>(tensors.size());
    group.tensors = std::move(tensors);
    groups_.push_back(std::move(group));
  }
}

Operations MergedHorovod::on_event(Seconds now, const Event& event) {
  if (job_.world_size == 1) return {};
  if (const auto* fired = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(fired->micro_batch)) hook(now, fired->tensor);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) {
      all_reduced_ = poster_.post(Flag{.label = "all gradients are reduced"});
      poster_.post(Gate{.until = {all_reduced_}});
      count(0);
    }
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    count(queue_.on_done(now, ended->operation, poster_).size());
  }
  return poster_.take();
}

void MergedHorovod::hook(Seconds now, TensorId tensor) {
  const std::size_t index = group_of_[static_cast<std::size_t>(tensor)];
  Group& group = groups_[index];
  poster_.post(HostWork{.thread = HostWork::launcher, .time = hook_time_, .label = "Horovod hook"});
  if (groups_.size() != job_.tensors.size()) {
    poster_.post(copy_of(job_, job_.tensor(tensor), "copy into merged buffer"));
  }
  if (--group.missing > 0) return;
  group.missing = static_cast<int>(group.tensors.size());
  ++outstanding_;
  queue_.submit(
      now,
      {{.name = static_cast<RequestName>(index), .size = group.size, .tensors = group.tensors}},
      poster_);
}

void MergedHorovod::count(std::size_t arrived) {
  outstanding_ -= arrived;
  if (outstanding_ > 0 || all_reduced_ < 0) return;
  poster_.post(Raise{.flag = std::exchange(all_reduced_, -1)});
}

std::vector<PlanGroup> MergedHorovod::plan(int /*iteration*/) const {
  std::vector<PlanGroup> plan;
  plan.reserve(groups_.size());
  for (const auto& group : groups_) {
    plan.push_back({group.tensors, job_.elements_in(group.size), group.size});
  }
  return plan;
}

std::vector<std::vector<TensorId>> one_group(const JobView& job) {
  return {job.gradient_order};
}

std::vector<std::vector<TensorId>> a_group_each(const JobView& job) {
  std::vector<std::vector<TensorId>> groups;
  groups.reserve(job.gradient_order.size());
  for (const TensorId id : job.gradient_order) groups.push_back({id});
  return groups;
}

}  // namespace gradwire
