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

}  // namespace gradwire
