#include "strategies/all_reduce/lb_sgd.hpp"

#include <limits>

#include "strategies/parts/gradient_groups.hpp"

namespace gradwire {
namespace {

/// The swap of a tensor: division in place, clone, copy out of the buffer, copy into it.
constexpr int kernels_of_swap = 4;

}  // namespace

LbSgd::LbSgd(const LbSgdOptions& options, const JobView& job)
    : SharedStepStrategy(job), options_(options), all_(group_of(job, registration_order(job))) {}

StrategyMaker LbSgd::read(Knobs& knobs) {
  LbSgdOptions options;
  options.warmup_steps = static_cast<int>(
      knobs.count("warmup_steps", options.warmup_steps, 0, std::numeric_limits<int>::max(),
                  "fpdp.DistributedOptimizer(warmup_steps), which has no default; 0: the steady "
                  "state from the first step on"));
  return [options](const JobView& job) { return std::make_unique<LbSgd>(options, job); };
}

Traits LbSgd::traits() const {
  // The all-reduce outlives its iteration.
  return {.dynamic = true, .exactness = Exactness::stale};
}

void LbSgd::finish(WorkerId /*worker*/) {
  if (iteration_ < options_.warmup_steps) {
    reduce_now();
  } else {
    swap_with_last();
  }
}

void LbSgd::copy_tensors(int kernels_each, const char* label) {
  poster_.post(DeviceWork{.traffic = std::int64_t{2} * kernels_each * all_.size,
                          .kernels = kernels_each * static_cast<int>(job_.tensors.size()),
                          .label = label});
}

OperationId LbSgd::all_reduce() {
  return poster_.post(Collective{
      .size = all_.size, .tensors = all_.tensors, .label = "all-reduce of all gradients"});
}

void LbSgd::reduce_now() {
  copy_tensors(1, "copy into buffer");
  poster_.post(Gate{{all_reduce()}});
  poster_.post(DeviceWork{.traffic = 2 * all_.size, .label = "divide"});
  copy_tensors(1, "copy back");
}

void LbSgd::swap_with_last() {
  if (in_flight_) poster_.post(Gate{{*in_flight_}});
  copy_tensors(kernels_of_swap, "swap with the last batch's gradients");
  in_flight_ = all_reduce();
}

std::vector<PlanGroup> LbSgd::plan(int iteration) const {
  PlanGroup group = all_;
  if (iteration >= options_.warmup_steps) group.note = "taken by the next iteration";
  return {group};
}

}  // namespace gradwire
