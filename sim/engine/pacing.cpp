#include "sim/engine/pacing.hpp"

#include <algorithm>

namespace gradwire {
namespace {

double group_time(const Quotient& quotient, const PhaseClasses& phase, const GroupClass& group,
                  double bytes, const CollectiveCost& cost) {
  double sum = 0;
  double longest = 0;
  for (const GroupClass::Member& member : group.members) {
    const FlowClass& flow = quotient.flow_classes[member.flow_class];
    const double message =
        message_latency(flow, cost) + flow.kind.share * bytes / phase.steps / flow.fair_rate;
    sum += member.count * message;
    longest = std::max(longest, message);
  }
  return phase.coupling == Coupling::chain ? sum + (phase.steps - 1) * longest
                                           : phase.steps * longest;
}

}  // namespace

double message_latency(const FlowClass& flow, const CollectiveCost& cost) {
  if (cost.alone) return 0;
  switch (flow.kind.hop) {
    case Hop::nvlink:
      return flow.kind.latency + cost.hop_nvlink.count();
    case Hop::pcie:
      return flow.kind.latency + cost.hop_pcie.count();
    case Hop::network:
      return flow.kind.latency + cost.hop_network.count();
  }
  return flow.kind.latency;
}

int rounds(const PhaseClasses& phase, const GroupClass& group) {
  return phase.coupling == Coupling::chain ? static_cast<int>(group.flows) + phase.steps - 1
                                           : phase.steps;
}

std::vector<std::vector<double>> pace(const Quotient& quotient, const PatternClasses& pattern,
                                      double bytes, const CollectiveCost& cost) {
  std::vector<std::vector<double>> times;
  double total = 0;
  for (const PhaseClasses& phase : pattern.phases) {
    auto& groups = times.emplace_back();
    for (const GroupClass& group : phase.groups) {
      groups.push_back(group_time(quotient, phase, group, bytes, cost));
    }
    total += *std::max_element(groups.begin(), groups.end());
  }
  if (cost.alone) {
    for (auto& groups : times) {
      for (double& time : groups) time *= cost.alone->count() / total;
    }
  }
  return times;
}

}  // namespace gradwire
