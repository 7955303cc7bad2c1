#include "sim/engine/fluid_network.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/engine/pacing.hpp"

namespace gradwire {
namespace {

/// Transport::solver() of ours.
constexpr std::string_view own_solver = "gradwire";
/// Of a flow's bytes: what is left of it by rounding.
constexpr double rounding = 1e-12;

/// All of a phase's flows may have their fair rates at once, and so may slower ones.
bool has_room(const Quotient& quotient, const GroupClass& group, double rate) {
  return std::ranges::all_of(group.members, [&](const GroupClass::Member& member) {
    return rate <= quotient.flow_classes[member.flow_class].fair_rate;
  });
}

}  // namespace

TransferNetwork::PlannedPhase FluidNetwork::plan_phase(const PhaseClasses& phase, double bytes,
                                                       const CollectiveCost& cost,
                                                       const std::vector<double>& times) const {
  PlannedPhase planned;
  bool paced = true;
  for (std::size_t g = 0; g < phase.groups.size(); ++g) {
    const GroupClass& group = phase.groups[g];
    if (group.coupled) {
      const double moved = group.coupled->share * bytes;
      planned.flows.push_back({group.coupled->column, moved, moved / times[g], Seconds{}});
      paced &= has_room(quotient(), group, moved / times[g]);
      continue;
    }
    for (const GroupClass::Member& member : group.members) {
      const FlowClass& flow = quotient().flow_classes[member.flow_class];
      const double moved = flow.kind.share * bytes;
      const bool is_paced = phase.coupling != Coupling::independent || cost.uncontended;
      paced &= is_paced && moved / times[g] <= flow.fair_rate;
      const double waits = is_paced ? 0 : phase.steps * message_latency(flow, cost);
      planned.flows.push_back(
          {flow.column, moved, is_paced ? moved / times[g] : flow.kind.ceiling, Seconds{waits}});
    }
  }
  planned.messages = planned.flows.size();
  if (paced) planned.uncontended = Seconds{*std::ranges::max_element(times)};
  return planned;
}

void FluidNetwork::start_phase(std::uint32_t slot) {
  if (phase_of(slot).uncontended && moves_alone() && stats().solver == own_solver)
    return hold(slot);
  const auto flows = static_cast<std::uint32_t>(phase_of(slot).flows.size());
  for (std::uint32_t flow = 0; flow < flows;) flow = launch_alike(slot, flow);
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

void FluidNetwork::flow_ended(std::uint32_t slot, std::uint32_t /*flow*/) {
  message_ended(slot);
}

}  // namespace gradwire
