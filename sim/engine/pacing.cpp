#include "sim/engine/pacing.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/engine/forwarding.hpp"

namespace gradwire {
namespace {

/// The longest way through a pipeline whose flow i takes time(class of i).
template <class Time>
auto longest_way(const GroupClass& group, Time time) {
  using Length = decltype(time(0U));
  std::vector<Length> end(group.stages.size());
  Length longest{};
  for (std::size_t i = 0; i < group.stages.size(); ++i) {
    for (const std::uint32_t before : group.stages[i].before)
      end[i] = std::max(end[i], end[before]);
    end[i] += time(group.stages[i].flow_class);
    longest = std::max(longest, end[i]);
  }
  return longest;
}

double group_time(const Quotient& quotient, const PhaseClasses& phase, const GroupClass& group,
                  double bytes, const CollectiveCost& cost) {
  const auto message = [&](std::uint32_t flow_class) {
    return message_time(quotient.flow_classes[flow_class], phase.steps, bytes, cost);
  };
  double longest = 0;
  for (const GroupClass::Member& member : group.members) {
    longest = std::max(longest, message(member.flow_class));
  }
  return phase.coupling == Coupling::pipeline
             ? longest_way(group, message) + (phase.steps - 1) * longest
             : phase.steps * longest;
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
  return longest_way(group, [](std::uint32_t) { return 1; }) + phase.steps - 1;
}

std::vector<std::vector<double>> pace(const Quotient& quotient, const PatternClasses& pattern,
                                      double bytes, const CollectiveCost& cost) {
  std::vector<std::vector<double>> times;
  double total = 0;
  for (const PhaseClasses& phase : pattern.phases) {
    auto& groups = times.emplace_back();
    if (forwards_messages(phase.coupling, phase.steps)) {
      groups = forwarding_times(quotient, phase, bytes, cost);
    } else {
      for (const GroupClass& group : phase.groups) {
        groups.push_back(group_time(quotient, phase, group, bytes, cost));
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
