#include "sim/engine/step_network.hpp"

#include "sim/engine/pacing.hpp"

namespace gradwire {

TransferNetwork::PlannedPhase StepNetwork::plan_phase(const PhaseClasses& phase, double bytes,
                                                      const CollectiveCost& cost,
                                                      const std::vector<double>& times) const {
  PlannedPhase planned;
  for (std::size_t g = 0; g < phase.groups.size(); ++g) {
    const GroupClass& group = phase.groups[g];
    for (const GroupClass::Member& member : group.members) {
      const FlowClass& flow = quotient().flow_classes[member.flow_class];
      const double message = flow.kind.share * bytes / phase.steps;
      // A measured time is spread evenly over the messages that follow each other.
      const double cap = cost.alone ? message * rounds(phase, group) / times[g] : Transport::no_cap;
      planned.flows.push_back(
          {member.flow_class, message, cap, Seconds{message_latency(flow, cost)}});
    }
  }
  planned.messages = planned.flows.size() * static_cast<std::uint64_t>(phase.steps);
  return planned;
}

void StepNetwork::start_phase(std::uint32_t slot) {
  if (progress_.size() <= slot) progress_.resize(slot + 1);
  const Transfer& moving = transfer(slot);
  const PhaseClasses& phase =
      quotient().patterns[static_cast<std::size_t>(moving.pattern)].phases[moving.phase];
  Progress& progress = progress_[slot];
  progress = {phase.coupling, phase.steps, {}};
  for (const GroupClass& group : phase.groups) {
    const auto first = static_cast<std::uint32_t>(progress.senders.size());
    const std::uint32_t last = first + group.flows - 1;
    for (std::uint32_t flow = first; flow <= last; ++flow) {
      progress.senders.push_back({flow - 1, flow + 1});
    }
    const bool closed = phase.coupling == Coupling::ring;
    progress.senders[first].before = closed ? last : none;
    progress.senders[last].after = closed ? first : none;
  }
  const auto flows = static_cast<std::uint32_t>(progress.senders.size());
  for (std::uint32_t flow = 0; flow < flows; ++flow) send_if_ready(slot, flow);
}

void StepNetwork::send_if_ready(std::uint32_t slot, std::uint32_t flow) {
  Progress& progress = progress_[slot];
  Sender& sender = progress.senders[flow];
  if (sender.sending || sender.ended == progress.steps) return;
  if (sender.before != none) {
    // Step s of a ring forwards what arrived in step s - 1; of a chain, what arrived in step s.
    const int needed = progress.coupling == Coupling::ring ? sender.ended : sender.ended + 1;
    if (progress.senders[sender.before].ended < needed) return;
  }
  sender.sending = true;
  launch(slot, flow);
}

void StepNetwork::flow_ended(std::uint32_t slot, std::uint32_t flow) {
  Sender& sender = progress_[slot].senders[flow];
  sender.sending = false;
  ++sender.ended;
  send_if_ready(slot, flow);
  if (sender.after != none) send_if_ready(slot, sender.after);
  message_ended(slot);
}

}  // namespace gradwire
