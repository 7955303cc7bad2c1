#include "strategies/peers/kungfu_cpu.hpp"

#include <fmt/format.h>

#include <utility>

#include "strategies/parts/gradient_groups.hpp"
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

KungfuCpu::KungfuCpu(const KungfuSessionOptions& options, const JobView& job, int change_step,
                     const KungfuMonitor& monitor)
    : StepStrategy(job),
      change_step_(change_step),
      monitor_(monitor),
      part_(options.part),
      config_server_(options.config_server),
      session_(options, job_, all_ranks(job_), poster_),
      control_(session_, job_, poster_) {
  for (const auto& tensor : job_.tensors) model_ += job_.size_of(tensor);
}

void KungfuCpu::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (averages()) return;
  poster_.post(launch_marker("gradient ready"), [this, tensor] { gradient_ready(tensor); });
}

std::size_t KungfuCpu::collectives_of_gradients() const {
  const bool squares = !averages() && monitors(KungfuMonitor::Kind::variance);
  return (squares ? 2 : 1) * job_.tensors.size();
}

void KungfuCpu::gradient_ready(TensorId tensor) {
  const auto reduce = [this, tensor] {
    session_.start(tensor, job_.tensor(tensor), KungfuSession::Kind::all_reduce,
                   [this] { reduced_.end(poster_); });
  };
  reduce();
  if (!monitors(KungfuMonitor::Kind::variance)) return;
  poster_.post(DeviceWork{.traffic = square_accesses * job_.size_of(job_.tensor(tensor)),
                          .label = "square",
                          .stream = DeviceStream::side,
                          .notify = true},
               reduce);
}

void KungfuCpu::begin(int iteration, WorkerId /*worker*/) {
  iteration_ = iteration;
  reduced_.expect(poster_, collectives_of_gradients(), "all-reduces over");
  auto steps = control_steps();
  if (steps.empty()) {
    start_collectives();
    return;
  }
  const OperationId agreed = poster_.post(Flag{.label = "workers agreed"});
  control_.run(std::move(steps), [this, agreed] {
    poster_.post(Raise{.flag = agreed});
    start_collectives();
  });
  poster_.post(Gate{.until = {agreed}});  // behind the marker of the step before
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
    start_all(KungfuSession::Kind::all_reduce, reduced_);
  } else if (iteration_ == change_step_ && change_step_ > 0) {
    broadcast_.expect(poster_, job_.tensors.size(), "broadcasts over");
    start_all(KungfuSession::Kind::broadcast, broadcast_);
    poster_.post(Gate{.until = {broadcast_.flag()}});
  }
}

void KungfuCpu::start_all(KungfuSession::Kind kind, Outstanding& of) {
  for (const TensorId id : registration_order(job_)) {
    session_.start(id, job_.tensor(id), kind, [this, &of] { of.end(poster_); });
  }
}

void KungfuCpu::finish(WorkerId /*worker*/) {
  poster_.post(Gate{.until = {reduced_.flag()}});
  const auto tensors = static_cast<int>(job_.tensors.size());
  if (averages()) {
    poster_.post(DeviceWork{.traffic = 3 * model_, .kernels = tensors, .label = "assign averages"});
  } else if (monitors(KungfuMonitor::Kind::noise_scale)) {
    poster_.post(DeviceWork{
        .traffic = noise_accesses * model_, .kernels = noise_kernels, .label = "noise scale"});
  } else if (monitors(KungfuMonitor::Kind::variance)) {
    poster_.post(DeviceWork{.traffic = variance_accesses * model_,
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
