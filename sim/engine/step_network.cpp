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
      const double cap =
          cost.uncontended ? message * rounds(phase, group) / times[g] : flow.kind.ceiling;
      planned.flows.push_back({flow.column, message, cap, Seconds{message_latency(flow, cost)}});
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
    progress.senders.resize(first + group.flows);
    const auto await = [&](std::uint32_t flow, std::uint32_t before) {
      progress.senders[first + flow].before.push_back(first + before);
      progress.senders[first + before].after.push_back(first + flow);
    };
    if (phase.coupling == Coupling::ring) {
      for (std::uint32_t i = 0; i < group.flows; ++i) await(i, (i + group.flows - 1) % group.flows);
    }
    for (std::uint32_t i = 0; i < group.stages.size(); ++i) {
      for (const std::uint32_t before : group.stages[i].before) await(i, before);
    }
  }
  const auto flows = static_cast<std::uint32_t>(progress.senders.size());
  for (std::uint32_t flow = 0; flow < flows; ++flow) send_if_ready(slot, flow);
}

void StepNetwork::send_if_ready(std::uint32_t slot, std::uint32_t flow) {
  Progress& progress = progress_[slot];
  Sender& sender = progress.senders[flow];
  if (sender.sending || sender.ended == progress.steps) return;
  // Step s of a ring forwards what arrived in step s - 1; of a pipeline, what arrived in step s.
  const int needed = progress.coupling == Coupling::ring ? sender.ended : sender.ended + 1;
  for (const std::uint32_t before : sender.before) {
    if (progress.senders[before].ended < needed) return;
  }
  sender.sending = true;
  launch(slot, flow);
}

void StepNetwork::flow_ended(std::uint32_t slot, std::uint32_t flow) {
  Sender& sender = progress_[slot].senders[flow];
  sender.sending = false;
  ++sender.ended;
  send_if_ready(slot, flow);
  for (const std::uint32_t after : sender.after) send_if_ready(slot, after);
  message_ended(slot);
}

}  // namespace gradwire
