#pragma once

#include <memory>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// One GPU without a wrapper, or ranks that never talk: no operation at all. Nobody waits for the
/// slowest, so that a strategy trains faster on the same ranks by no more than the optimizer's step
/// at most: that runs behind backward here, and the host waits for it, where others divide it among
/// ranks, or run it between the next forward's layers while the host launches them.
class NoCommunication final : public Strategy {
 public:
  /// @param ranks  each with a model of its own.
  explicit NoCommunication(int ranks = 1) : ranks_(ranks) {}
  static StrategyMaker read(Knobs& /*knobs*/) {
    return [](const JobView& job) { return std::make_unique<NoCommunication>(job.world_size); };
  }
  Operations on_event(Seconds /*now*/, const Event& /*event*/) override { return {}; }
  [[nodiscard]] Traits traits() const override {
    return {.independent_workers = true,
            .exactness = ranks_ > 1 ? Exactness::stale : Exactness::exact};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }

 private:
  int ranks_;
};

}  // namespace gradwire
