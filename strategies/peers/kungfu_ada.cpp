#include "strategies/peers/kungfu_ada.hpp"

#include <limits>
#include <memory>

#include "strategies/peers/kungfu_cpu.hpp"

namespace gradwire {
namespace {

constexpr int change_step_default = 10;

}  // namespace

StrategyMaker KungfuAda::read(Knobs& knobs) {
  const auto step = static_cast<int>(
      knobs.count("change_step", change_step_default, 0, std::numeric_limits<int>::max() - 1,
                  "AdaptiveSGDOptimizer(change_step), which has no default: ours is assumed; "
                  "counts iterations from the run's first, warm-up included"));
  const auto session = read_kungfu_session(knobs);
  return [step, session](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, step);
  };
}

}  // namespace gradwire
