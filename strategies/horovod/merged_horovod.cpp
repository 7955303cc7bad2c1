#include "strategies/horovod/merged_horovod.hpp"

namespace gradwire {

MergedHorovod::MergedHorovod(const HorovodOptions& options, const JobView& job,
                             const TensorGroups& groups)
    : SharedStepStrategy(job),
      hook_time_(options.hook_time),
      late_(active() ? std::optional(step_delay(options)) : std::nullopt),
      queue_(options, job),
      groups_(job, groups) {}

void MergedHorovod::gradient(TensorId tensor, WorkerId /*worker*/) {
  poster_.post(HostWork{.thread = HostWork::launcher, .time = hook_time_, .label = "Horovod hook"});
  if (!groups_.of_one_each()) {
    poster_.post(copy_of(job_, job_.tensor(tensor), "copy into merged buffer"));
  }
  const auto group = groups_.arrived(tensor);
  if (!group) return;
  reduced_.add();
  queue_.submit(now_,
                {{.name = static_cast<RequestName>(*group),
                  .size = groups_[*group].size,
                  .tensors = groups_[*group].tensors}},
                poster_);
}

void MergedHorovod::finish(WorkerId /*worker*/) {
  reduced_.gate(poster_, "all gradients are reduced");
}

void MergedHorovod::ended(OperationId operation) {
  reduced_.end(poster_, queue_.on_done(now_, operation, poster_).size());
}

}  // namespace gradwire
