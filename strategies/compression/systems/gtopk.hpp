#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// gTop-k S-SGD as its system runs it: one buffer of all gradients, selected after backward (its
/// hooks synchronise with the GPU, so nothing overlaps), then a tree over host memories.
///
/// Source: hclhkbu/gtopkssgd, allreducer.py:26, 71-163, 235-257; see GlobalTopK. Its threshold of
/// 640 Mi elements merges every model there is into one buffer.
[[nodiscard]] StrategyMaker read_gtopk(Knobs& knobs);

}  // namespace gradwire
