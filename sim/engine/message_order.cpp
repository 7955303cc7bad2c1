#include "sim/engine/message_order.hpp"

#include <algorithm>

namespace gradwire {

MessageOrder::MessageOrder(const PhaseClasses& phase)
    : coupling_(phase.coupling), steps_(phase.steps) {
  for (const GroupClass& group : phase.groups) {
    const std::uint32_t first = senders();
    const auto flows = static_cast<std::uint32_t>(group.members.size());
    sent_.resize(first + flows);
    const auto await = [&](std::uint32_t flow, std::uint32_t before) {
      sent_[first + flow].before.push_back(first + before);
      sent_[first + before].after.push_back(first + flow);
    };
    if (phase.coupling == Coupling::ring) {
      for (std::uint32_t i = 0; i < flows; ++i) await(i, (i + flows - 1) % flows);
    }
    for (std::uint32_t i = 0; i < group.stages.size(); ++i) {
      for (const std::uint32_t before : group.stages[i].before) await(i, before);
    }
  }
}

bool MessageOrder::is_ready(const Sender& sender) const {
  if (sender.sending || sender.arrived == steps_) return false;
  // Step s of a ring forwards what arrived in step s - 1; of a pipeline, what arrived in step s.
  const int needed = coupling_ == Coupling::ring ? sender.arrived : sender.arrived + 1;
  return std::ranges::all_of(sender.before,
                             [&](std::uint32_t before) { return sent_[before].arrived >= needed; });
}

}  // namespace gradwire
