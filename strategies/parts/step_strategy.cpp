#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

Operations StepStrategy::on_event(Seconds now, const Event& event) {
  if (!active()) return {};
  now_ = now;
  if (const auto* done = std::get_if<OperationDone>(&event)) {
    ended(done->operation);
  } else if (const auto* start = std::get_if<IterationStart>(&event)) {
    begin(start->iteration, start->worker);
  } else if (const auto* before = std::get_if<ForwardStart>(&event)) {
    if (before->micro_batch == 0) forward(before->layer, before->worker);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch)) gradient(hook->tensor, hook->worker);
  } else if (const auto* backward = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(backward->micro_batch)) finish(backward->worker);
  }
  return poster_.take();
}

}  // namespace gradwire
