#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// KungFu's SynchronousAveragingOptimizer (sma): KungfuCpu that averages models in every iteration.
/// Source: lsds/KungFu, optimizers/sma_sgd.py:50-74.
struct KungfuSma {
  static StrategyMaker read(Knobs& knobs);
};

}  // namespace gradwire
