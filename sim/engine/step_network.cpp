#include "sim/engine/step_network.hpp"

#include <algorithm>

#include "sim/engine/pacing.hpp"

namespace gradwire {

TransferNetwork::PlannedPhase StepNetwork::plan_phase(const PhaseClasses& phase, double bytes,
                                                      const CollectiveCost& cost,
                                                      const std::vector<double>& times) const {
  PlannedPhase planned = plan_messages(phase, bytes, cost, times);
  // Nothing is merged: a column is its class's number.
  const bool too_fast = cost.uncontended && phase.coupling == Coupling::pipeline &&
                        std::ranges::any_of(planned.flows, [&](const PlannedFlow& flow) {
                          return flow.rate_cap > quotient().flow_classes[flow.column].fair_rate;
                        });
  return too_fast ? plan_flows(phase, bytes, cost, times) : planned;
}

}  // namespace gradwire
