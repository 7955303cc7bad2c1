#include "sim/engine/fluid_network.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gradwire {
namespace {

/// Transport::solver() of ours.
constexpr std::string_view own_solver = "gradwire";
/// Of a flow's bytes: what is left of it by rounding.
constexpr double rounding = 1e-12;

}  // namespace

TransferNetwork::PlannedPhase FluidNetwork::plan_phase(const PhaseClasses& phase, double bytes,
                                                       const CollectiveCost& cost,
                                                       const std::vector<double>& times) const {
  return forwards_messages(phase.coupling, phase.steps) ? plan_messages(phase, bytes, cost, times)
                                                        : plan_flows(phase, bytes, cost, times);
}

void FluidNetwork::start_flows(std::uint32_t slot) {
  if (phase_of(slot).uncontended && moves_alone() && stats().solver == own_solver)
    return hold(slot);
  TransferNetwork::start_flows(slot);
}

void FluidNetwork::hold(std::uint32_t slot) {
  held_ = {slot, queue().now(), ++holds_};
  queue().post(queue().now() + *phase_of(slot).uncontended, EventQueue::network_priority,
               [this, number = holds_] {
                 if (!held_ || held_->number != number) return;
                 phase_ended(std::exchange(held_, {})->slot);
               });
}

void FluidNetwork::another_begins() {
  if (!held_) return;
  const Held held = *std::exchange(held_, {});
  const double elapsed = (queue().now() - held.since).count();
  std::uint32_t left = 0;
  const auto& flows = phase_of(held.slot).flows;
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
    const double rest = flows[flow].bytes - flows[flow].rate_cap * elapsed;
    if (rest <= rounding * flows[flow].bytes) continue;
    go_on(held.slot, flow, rest);
    ++left;
  }
  if (left == 0) return phase_ended(held.slot);
  wait_for(held.slot, left);
}

}  // namespace gradwire
