#include "strategies/all_reduce/local_sgd.hpp"

#include <limits>
#include <utility>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {

LocalSgd::LocalSgd(const LocalSgdOptions& options, const JobView& job,
                   std::unique_ptr<Strategy> gradients)
    : options_(options), job_(job), gradients_(std::move(gradients)) {
  if (options.post_local_gradient_allreduce) {
    static_cast<void>(equal_ranks_of_machines(job, "local_sgd reduces gradients"));
  }
  parameters_ = group_of(job, registration_order(job), "average of the parameters");
}

StrategyMaker LocalSgd::read(Knobs& knobs) {
  constexpr int most = std::numeric_limits<int>::max();
  LocalSgdOptions options;
  options.period = static_cast<int>(
      knobs.count("period", options.period, 1, most,
                  "PeriodicModelAverager(period), which has no default; 4 in its example"));
  options.start_local_sgd_iter = static_cast<int>(knobs.count(
      "start_localSGD_iter", options.start_local_sgd_iter, 0, most,
      "PostLocalSGDState(start_localSGD_iter), which has no default; 0: the steady state"));
  knobs.read("post_local_gradient_allreduce", options.post_local_gradient_allreduce,
             "PostLocalSGDState, from PyTorch 1.11 on; false: plain local SGD");
  StrategyMaker ddp = Ddp::read_reducer(knobs);
  return [options, ddp](const JobView& job) {
    return std::make_unique<LocalSgd>(options, job, ddp(job));
  };
}

Traits LocalSgd::traits() const {
  Traits traits = gradients_->traits();
  traits.own_optimizer = true;
  traits.exactness = Exactness::stale;
  return traits;
}

std::vector<CollectiveUse> LocalSgd::collectives() const {
  auto uses = gradients_->collectives();
  uses.push_back({CollectiveKind::all_reduce, families::node});
  return uses;
}

bool LocalSgd::is_local(int iteration) const {
  return iteration >= options_.start_local_sgd_iter;
}

bool LocalSgd::averages(int iteration) const {
  return is_local(iteration) && (iteration - options_.start_local_sgd_iter) % options_.period == 0;
}

Operations LocalSgd::on_event(Seconds now, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) iteration_ = start->iteration;
  for (auto& operation : gradients_->on_event(now, event)) post(std::move(operation));
  const auto* done = std::get_if<BackwardDone>(&event);
  if (done != nullptr && job_.synchronises(done->micro_batch)) {
    out_.post(OptimizerStep{.label = "local step"});
    if (averages(iteration_)) average();
  }
  return out_.take();
}

void LocalSgd::post(Operation operation) {
  if (auto* gate = std::get_if<Gate>(&operation)) {
    for (OperationId& id : gate->until) id = own_id_[static_cast<std::size_t>(id)];
    std::erase(gate->until, -1);
    if (gate->until.empty()) {
      own_id_.push_back(-1);
      return;
    }
  }
  auto* collective = std::get_if<Collective>(&operation);
  if (collective != nullptr && collective->kind == CollectiveKind::all_reduce &&
      is_local(iteration_)) {
    if (!options_.post_local_gradient_allreduce) {
      own_id_.push_back(-1);
      return;
    }
    out_.post(DeviceWork{.traffic = 2 * collective->size, .label = "divide"});
    collective->communicator = families::node;
  }
  own_id_.push_back(out_.post(std::move(operation)));
}

void LocalSgd::average() {
  out_.post(DeviceWork{.traffic = 2 * parameters_.size, .label = "flatten parameters"});
  out_.post(DeviceWork{.traffic = 2 * parameters_.size, .label = "divide"});
  out_.post(Gate{{out_.post(Collective{.size = parameters_.size,
                                       .tensors = parameters_.tensors,
                                       .label = "average of the parameters"})}});
}

std::vector<PlanGroup> LocalSgd::plan(int iteration) const {
  std::vector<PlanGroup> plan;
  if (!is_local(iteration) || options_.post_local_gradient_allreduce) {
    plan = gradients_->plan(iteration);
    if (is_local(iteration)) {
      for (auto& group : plan) group.note = "inside each machine";
    }
  }
  if (averages(iteration)) plan.push_back(parameters_);
  return plan;
}

}  // namespace gradwire
