#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// KungFu's SynchronousSGDOptimizer, by `mode`: cpu (KungfuCpu: every gradient through the hosts),
/// nccl (KungfuNccl: gradients in the order of their names), hierarchical (KungfuNccl: NCCL within
/// a machine, the CPU between machines).
///
/// Source: lsds/KungFu, srcs/python/kungfu/tensorflow/optimizers/sync_sgd.py and
/// ops/collective.py:71-137.
struct KungfuSync {
  static StrategyMaker read(Knobs& knobs);
};

/// KungFu's SynchronousAveragingOptimizer (sma): KungfuCpu that averages models in every iteration.
/// Source: lsds/KungFu, optimizers/sma_sgd.py:50-74.
struct KungfuSma {
  static StrategyMaker read(Knobs& knobs);
};

/// KungFu's AdaptiveSGDOptimizer: KungfuCpu that averages models before iteration `change_step`,
/// broadcasts the first rank's there, and reduces gradients from it on.
/// Source: lsds/KungFu, optimizers/ada_sgd.py.
struct KungfuAda {
  static StrategyMaker read(Knobs& knobs);
};

}  // namespace gradwire
