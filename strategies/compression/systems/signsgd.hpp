#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// signSGD as its systems run it. `all_gather`: ddl-benchmarks' signum, merged groups packed in the
/// hook of their last gradient. `rank0`: signSGD with majority vote, in the optimizer's step, over
/// buckets of at most 100 MiB in registration order.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206, 614-626; main/Signum_SGD.py:
/// 43-44, 127-166; see SignCompressor. ddl-benchmarks registers no hooks on one rank: nothing
/// happens.
[[nodiscard]] StrategyMaker read_signsgd(Knobs& knobs);

}  // namespace gradwire
