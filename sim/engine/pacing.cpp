#include "sim/engine/pacing.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/engine/forwarding.hpp"

namespace gradwire {
namespace {

/// The longest way through a pipeline whose flow i takes time(class of i), with further(class of i)
/// of one of the flows that it passes, whichever makes it the longest.
template <class Time, class Further>
auto longest_way(const std::vector<GroupClass::Stage>& stages, Time time, Further further) {
  using Length = decltype(time(0U));
  std::vector<Length> until(stages.size());   // the flow's end
  std::vector<Length> behind(stages.size());  // it
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const std::uint32_t before : stages[i].before) {
      until[i] = std::max(until[i], until[before]);
    }
    until[i] += time(stages[i].flow_class);
  }
  Length longest{};
  for (std::size_t i = stages.size(); i-- > 0;) {
    const std::uint32_t flow_class = stages[i].flow_class;
    longest = std::max(longest, until[i] + behind[i] + further(flow_class));
    for (const std::uint32_t before : stages[i].before) {
      behind[before] = std::max(behind[before], behind[i] + time(flow_class));
    }
  }
  return longest;
}

/// The same of a group, or of the slowest of its class.
template <class Time, class Further>
auto longest_way(const GroupClass& group, Time time, Further further) {
  auto longest = longest_way(group.stages, time, further);
  for (const auto& stages : group.otherwise) {
    longest = std::max(longest, longest_way(stages, time, further));
  }
  return longest;
}

/// @param messages  of use in a pipeline, by flow class: thousands of flows are of few classes.
double group_time(const Quotient& quotient, const PhaseClasses& phase, const GroupClass& group,
                  double bytes, const CollectiveCost& cost, std::vector<double>& messages) {
  const auto message = [&](std::uint32_t flow_class) {
    return message_time(quotient.flow_classes[flow_class], phase.steps, bytes, cost);
  };
  if (phase.coupling == Coupling::pipeline) {
    messages.resize(quotient.flow_classes.size());
    for (const GroupClass::Member& member : group.members) {
      messages[member.flow_class] = message(member.flow_class);
    }
    return longest_way(
        group, [&](std::uint32_t flow_class) { return messages[flow_class]; },
        [&](std::uint32_t flow_class) { return (phase.steps - 1) * messages[flow_class]; });
  }
  double longest = 0;
  for (const GroupClass::Member& member : group.members) {
    longest = std::max(longest, message(member.flow_class));
  }
  return phase.steps * longest;
}

}  // namespace

double message_latency(const FlowClass& flow, const CollectiveCost& cost) {
  if (cost.uncontended) return 0;
  const std::array hops = {cost.hop_nvlink, cost.hop_pcie, cost.hop_network};
  const Seconds hop = hops.at(static_cast<std::size_t>(flow.kind.hop));
  return std::max(0.0, flow.kind.latency + hop.count());
}

double message_time(const FlowClass& flow, int steps, double bytes, const CollectiveCost& cost) {
  return message_latency(flow, cost) + flow.kind.share * bytes / steps / flow.fair_rate;
}

int rounds(const PhaseClasses& phase, const GroupClass& group) {
  if (phase.coupling != Coupling::pipeline) return phase.steps;
  return longest_way(
      group, [](std::uint32_t) { return 1; }, [&](std::uint32_t) { return phase.steps - 1; });
}

std::vector<std::vector<double>> pace(const Quotient& quotient, const PatternClasses& pattern,
                                      double bytes, const CollectiveCost& cost) {
  std::vector<std::vector<double>> times;
  std::vector<double> messages;
  double total = 0;
  for (const PhaseClasses& phase : pattern.phases) {
    auto& groups = times.emplace_back();
    if (forwards_messages(phase.coupling, phase.steps)) {
      groups = forwarding_times(quotient, phase, bytes, cost);
    } else {
      for (const GroupClass& group : phase.groups) {
        groups.push_back(group_time(quotient, phase, group, bytes, cost, messages));
      }
    }
    total += *std::max_element(groups.begin(), groups.end());
  }
  if (cost.uncontended) {
    for (auto& groups : times) {
      for (double& time : groups) time *= cost.uncontended->count() / total;
    }
  }
  return times;
}

}  // namespace gradwire
