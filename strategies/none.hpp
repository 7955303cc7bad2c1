#pragma once

#include "strategies/strategy.hpp"

namespace gradwire {

/// One GPU without a wrapper, or ranks that never talk: no operation at all.
class NoCommunication final : public Strategy {
 public:
  Operations on_event(Seconds /*now*/, const Event& /*event*/) override { return {}; }
  [[nodiscard]] std::vector<CollectiveKind> collectives() const override { return {}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }
};

}  // namespace gradwire
