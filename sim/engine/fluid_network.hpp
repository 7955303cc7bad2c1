#pragma once

#include "sim/engine/transfer_network.hpp"

namespace gradwire {

/// Each class of flows moves all its bytes of a phase as one fluid.
///
/// The latency of a coupled group's messages is spread over the phase: all its flows get the rate
/// at which the group, uncontended, would end after the time that pace() gives. So a single
/// collective is exact against every message simulated, and contention slows the fluids down from
/// there. An independent flow, or one of a single step, waits for its latency first and then has
/// the cap of its connections only. So does a class of whole messages that are sent on, when what
/// it waits for has arrived.
///
/// A coupled phase of an uncontended transfer takes the time for which it is planned: our own
/// solver is asked for it from the moment on at which another transfer begins, if one does.
class FluidNetwork final : public TransferNetwork {
 public:
  using TransferNetwork::TransferNetwork;

 protected:
  [[nodiscard]] PlannedPhase plan_phase(const PhaseClasses& phase, double bytes,
                                        const CollectiveCost& cost,
                                        const std::vector<double>& times) const override;
  void start_flows(std::uint32_t slot) override;
  void another_begins() override;

 private:
  /// The uncontended transfer, whose flows the transport does not know yet.
  struct Held {
    std::uint32_t slot = 0;
    Seconds since;             ///< the beginning of its phase
    std::uint64_t number = 0;  ///< of all that were held
  };

  void hold(std::uint32_t slot);

  std::optional<Held> held_;
  std::uint64_t holds_ = 0;
};

}  // namespace gradwire
