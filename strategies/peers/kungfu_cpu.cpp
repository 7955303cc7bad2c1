#include "strategies/peers/kungfu_cpu.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Accesses of memory of each gradient, and kernels, counted from the tensor operations of KungFu's
/// ops/monitor.py and grad_variance.py; tf.norm multiplies, sums in two kernels and takes the root.
constexpr std::int64_t norm_accesses = 2 + 1;
constexpr int norm_kernels = 4;
constexpr std::int64_t noise_accesses = 2 * (2 + norm_accesses);
constexpr int noise_kernels = 2 * (1 + norm_kernels);
constexpr std::int64_t square_accesses = 2;
constexpr std::int64_t variance_accesses = 2 + 2 + 3 + norm_accesses;
constexpr int variance_kernels = 3 + norm_kernels;  // of each tensor

}  // namespace

KungfuCpu::KungfuCpu(const KungfuSessionOptions& options, JobView job, int change_step,
                     const KungfuMonitor& monitor)
    : job_(std::move(job)),
      change_step_(change_step),
      monitor_(monitor),
      part_(options.part),
      config_server_(options.config_server),
      session_(options, job_, all_ranks(job_)),
      control_(session_, job_) {
  for (const auto& tensor : job_.tensors) model_ += job_.size_of(tensor);
}

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
      gradient_ready(tensor);
    } else if (const auto squared = squared_.find(ended->operation); squared != squared_.end()) {
      const TensorId tensor = squared->second;
      squared_.erase(squared);
      session_.start(static_cast<TensorId>(job_.tensors.size()) + tensor, job_.tensor(tensor),
                     KungfuSession::Kind::all_reduce, writer_);
    } else if (control_.busy()) {
      if (control_.advance(ended->operation, writer_)) {
        writer_.post(Raise{.flag = controlled_});
        start_collectives();
      }
    } else if (session_.advance(ended->operation, writer_) && --missing_ == 0) {
      writer_.post(Raise{.flag = all_there_});
      if (std::exchange(broadcasting_, false)) {
        missing_ = collectives_of_gradients();
        all_there_ = after_broadcast_;
      }
    }
  }
  return writer_.take();
}

std::size_t KungfuCpu::collectives_of_gradients() const {
  const bool squares = !averages() && monitors(KungfuMonitor::Kind::variance);
  return (squares ? 2 : 1) * job_.tensors.size();
}

void KungfuCpu::gradient_ready(TensorId tensor) {
  session_.start(tensor, job_.tensor(tensor), KungfuSession::Kind::all_reduce, writer_);
  if (!monitors(KungfuMonitor::Kind::variance)) return;
  squared_[writer_.post(DeviceWork{.traffic = square_accesses * job_.size_of(job_.tensor(tensor)),
                                   .label = "square",
                                   .stream = DeviceStream::side,
                                   .notify = true})] = tensor;
}

void KungfuCpu::start_iteration(int iteration) {
  iteration_ = iteration;
  missing_ = collectives_of_gradients();
  all_there_ = writer_.post(Flag{.label = "all-reduces over"});
  if (auto steps = control_steps(); !steps.empty()) {
    controlled_ = writer_.post(Flag{.label = "workers agreed"});
    control_.run(std::move(steps), writer_);
    writer_.post(Gate{.until = {controlled_}});  // behind the marker of the step before
  } else {
    start_collectives();
  }
}

std::vector<KungfuControl::Step> KungfuCpu::control_steps() const {
  if (iteration_ > 0)
    return config_server_ ? KungfuControl::check(job_) : std::vector<KungfuControl::Step>{};
  if (!job_.change) return {};
  return job_.change->behind ? KungfuControl::join(*job_.change)
                             : KungfuControl::leave(*job_.change);
}

void KungfuCpu::start_collectives() {
  if (averages()) {
    start_all(KungfuSession::Kind::all_reduce);
  } else if (iteration_ == change_step_ && change_step_ > 0) {
    broadcasting_ = true;
    missing_ = job_.tensors.size();
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
  const auto tensors = static_cast<int>(job_.tensors.size());
  if (averages()) {
    writer_.post(DeviceWork{.traffic = 3 * model_, .kernels = tensors, .label = "assign averages"});
  } else if (monitors(KungfuMonitor::Kind::noise_scale)) {
    writer_.post(DeviceWork{
        .traffic = noise_accesses * model_, .kernels = noise_kernels, .label = "noise scale"});
  } else if (monitors(KungfuMonitor::Kind::variance)) {
    writer_.post(DeviceWork{.traffic = variance_accesses * model_,
                            .kernels = variance_kernels * tensors,
                            .label = "variance"});
  }
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
