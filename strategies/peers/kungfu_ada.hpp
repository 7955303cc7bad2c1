#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// KungFu's AdaptiveSGDOptimizer: KungfuCpu that averages models before iteration `change_step`,
/// broadcasts the first rank's there, and reduces gradients from it on.
/// Source: lsds/KungFu, optimizers/ada_sgd.py.
struct KungfuAda {
  static StrategyMaker read(Knobs& knobs);
};

}  // namespace gradwire
