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
  static constexpr std::uint32_t none = FlowGraph::no_group;

  /// A flow of the running phase; `before` and `after` are its neighbours in the ring or chain.
  struct Sender {
    std::uint32_t before = none;
    std::uint32_t after = none;
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
