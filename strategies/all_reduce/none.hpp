#pragma once

#include <memory>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// One GPU without a wrapper, or ranks that never talk: no operation at all. Nobody waits for the
/// slowest, so that no strategy trains faster on the same ranks.
class NoCommunication final : public Strategy {
 public:
  static StrategyMaker read(Knobs& /*knobs*/) {
    return [](const JobView& /*job*/) { return std::make_unique<NoCommunication>(); };
  }
  Operations on_event(Seconds /*now*/, const Event& /*event*/) override { return {}; }
  [[nodiscard]] Traits traits() const override { return {.independent_workers = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }
};

}  // namespace gradwire
