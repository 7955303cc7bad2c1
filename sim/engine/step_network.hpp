#pragma once

#include "sim/engine/transfer_network.hpp"

namespace gradwire {

/// Every message over its real links, in the order that Coupling demands; each pays the latency of
/// its path and the cost's hop. Reads its flows from a quotient without merging.
class StepNetwork final : public TransferNetwork {
 public:
  using TransferNetwork::TransferNetwork;

 protected:
  [[nodiscard]] PlannedPhase plan_phase(const PhaseClasses& phase, double bytes,
                                        const CollectiveCost& cost,
                                        const std::vector<double>& times) const override;
  void start_phase(std::uint32_t slot) override;
  void flow_ended(std::uint32_t slot, std::uint32_t flow) override;

 private:
  /// A flow of the running phase, the flows that it waits for and those that wait for it.
  struct Sender {
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> after;
    int ended = 0;  ///< messages
    bool sending = false;
  };
  struct Progress {
    Coupling coupling = Coupling::independent;
    int steps = 1;
    std::vector<Sender> senders;
  };

  void send_if_ready(std::uint32_t slot, std::uint32_t flow);

  std::vector<Progress> progress_;  ///< by slot
};

}  // namespace gradwire
