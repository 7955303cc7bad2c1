#pragma once

#include <memory>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// One GPU without a wrapper, or ranks that never talk: no operation at all.
class NoCommunication final : public Strategy {
 public:
  static StrategyMaker read(Knobs& /*knobs*/) {
    return [](const JobView& /*job*/) { return std::make_unique<NoCommunication>(); };
  }
  Operations on_event(Seconds /*now*/, const Event& /*event*/) override { return {}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }
};

}  // namespace gradwire
