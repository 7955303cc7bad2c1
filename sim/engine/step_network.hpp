#pragma once

#include "sim/engine/transfer_network.hpp"

namespace gradwire {

/// Every message over its real links, in the order that Coupling demands; each pays the latency of
/// its path and the cost's hop, before its first byte or spread over all of them
/// (CollectiveCost::waits_within). Those of a ring or a pipeline have no more of a link than their
/// part of it while all flows of their phase move: that is what pace() and the libraries price.
/// Moved faster while others wait, a collective would take up to 18 % less than its price, and
/// messages that meet on faster links more time than on slower ones. A pipeline whose measured time
/// leaves its links no room for the rounds in which our pieces fill it, fewer than the library's
/// own, moves as one fluid. Reads its flows from a quotient without merging.
class StepNetwork final : public TransferNetwork {
 public:
  using TransferNetwork::TransferNetwork;

 protected:
  [[nodiscard]] PlannedPhase plan_phase(const PhaseClasses& phase, double bytes,
                                        const CollectiveCost& cost,
                                        const std::vector<double>& times) const override;
};

}  // namespace gradwire
