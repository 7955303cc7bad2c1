#include "sim/engine/fluid_network.hpp"

#include "sim/engine/pacing.hpp"

namespace gradwire {

TransferNetwork::PlannedPhase FluidNetwork::plan_phase(const PhaseClasses& phase, double bytes,
                                                       const CollectiveCost& cost,
                                                       const std::vector<double>& times) const {
  PlannedPhase planned;
  for (std::size_t g = 0; g < phase.groups.size(); ++g) {
    const GroupClass& group = phase.groups[g];
    if (group.coupled) {
      const double moved = group.coupled->share * bytes;
      planned.flows.push_back({group.coupled->column, moved, moved / times[g], Seconds{}});
      continue;
    }
    for (const GroupClass::Member& member : group.members) {
      const FlowClass& flow = quotient().flow_classes[member.flow_class];
      const double moved = flow.kind.share * bytes;
      const bool paced = phase.coupling != Coupling::independent || cost.uncontended;
      const double waits = paced ? 0 : phase.steps * message_latency(flow, cost);
      planned.flows.push_back(
          {flow.column, moved, paced ? moved / times[g] : flow.kind.ceiling, Seconds{waits}});
    }
  }
  planned.messages = planned.flows.size();
  return planned;
}

void FluidNetwork::start_phase(std::uint32_t slot) {
  const auto flows = static_cast<std::uint32_t>(phase_of(slot).flows.size());
  for (std::uint32_t flow = 0; flow < flows; ++flow) launch(slot, flow);
}

void FluidNetwork::flow_ended(std::uint32_t slot, std::uint32_t /*flow*/) {
  message_ended(slot);
}

}  // namespace gradwire
