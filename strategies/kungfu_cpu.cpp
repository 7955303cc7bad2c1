#include "strategies/kungfu_cpu.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/job_places.hpp"

namespace gradwire {

KungfuCpu::KungfuCpu(const KungfuSessionOptions& options, JobView job, int change_step)
    : job_(std::move(job)),
      change_step_(change_step),
      part_(options.part),
      session_(options, job_, all_ranks(job_)) {}

Operations KungfuCpu::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch) && !averages()) {
      ready_[writer_.post(launch_marker("gradient ready"))] = hook->tensor;
    }
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish();
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    if (const auto marker = ready_.find(ended->operation); marker != ready_.end()) {
      const TensorId tensor = marker->second;
      ready_.erase(marker);
      session_.start(tensor, job_.tensor(tensor), KungfuSession::Kind::all_reduce, writer_);
    } else if (session_.advance(ended->operation, writer_) && --missing_ == 0) {
      writer_.post(Raise{.flag = all_there_});
      if (std::exchange(broadcasting_, false)) {
        missing_ = job_.tensors.size();
        all_there_ = after_broadcast_;
      }
    }
  }
  return writer_.take();
}

void KungfuCpu::start_iteration(int iteration) {
  iteration_ = iteration;
  missing_ = job_.tensors.size();
  all_there_ = writer_.post(Flag{.label = "all-reduces over"});
  if (averages()) {
    start_all(KungfuSession::Kind::all_reduce);
  } else if (iteration == change_step_ && change_step_ > 0) {
    broadcasting_ = true;
    after_broadcast_ = std::exchange(all_there_, writer_.post(Flag{.label = "broadcasts over"}));
    start_all(KungfuSession::Kind::broadcast);
    writer_.post(Gate{.until = {all_there_}});
  }
}

void KungfuCpu::start_all(KungfuSession::Kind kind) {
  for (std::size_t id = 0; id < job_.tensors.size(); ++id) {
    session_.start(static_cast<TensorId>(id), job_.tensors[id], kind, writer_);
  }
}

void KungfuCpu::finish() {
  // The gate is posted by the launcher, which may be ahead of the broadcasts.
  writer_.post(Gate{.until = {broadcasting_ ? after_broadcast_ : all_there_}});
  if (!averages()) return;
  Bytes model{0};
  for (const auto& tensor : job_.tensors) model += job_.size_of(tensor);
  writer_.post(DeviceWork{.traffic = 3 * model,
                          .kernels = static_cast<int>(job_.tensors.size()),
                          .label = "assign averages"});
}

std::vector<PlanGroup> KungfuCpu::plan(int iteration) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const auto& tensor = job_.tensor(id);
    const Bytes size = job_.size_of(tensor);
    groups.push_back(
        {{id},
         tensor.elements,
         size,
         fmt::format("{} in {} part(s)", iteration < change_step_ ? "variable" : "gradient",
                     (size.count() + part_.count() - 1) / part_.count())});
  }
  return groups;
}

}  // namespace gradwire
