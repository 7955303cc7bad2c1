#pragma once

#include "sim/engine/transfer_network.hpp"

namespace gradwire {

/// Each class of flows moves all its bytes of a phase as one fluid.
///
/// The latency of a coupled group's messages is spread over the phase: all its flows get the rate
/// at which the group, uncontended, would end after the time that pace() gives. So a single
/// collective is exact against every message simulated, and contention slows the fluids down from
/// there. An independent flow waits for its latency first and then has the cap of its connections
/// only.
class FluidNetwork final : public TransferNetwork {
 public:
  using TransferNetwork::TransferNetwork;

 protected:
  [[nodiscard]] PlannedPhase plan_phase(const PhaseClasses& phase, double bytes,
                                        const CollectiveCost& cost,
                                        const std::vector<double>& times) const override;
  void start_phase(std::uint32_t slot) override;
  void flow_ended(std::uint32_t slot, std::uint32_t flow) override;
};

}  // namespace gradwire
