#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// Top-k S-SGD as ddl-benchmarks runs it: groups merged up to a threshold of elements, selection on
/// the GPU in the hook of a group's last gradient, two all-gathers. One rank registers no hooks,
/// and does nothing.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206, 540-544, 608-626 and
/// horovod_mpi_cj.sh (density 0.001, threshold 67108864 elements); see Sparsifier.
[[nodiscard]] StrategyMaker read_topk(Knobs& knobs);

}  // namespace gradwire
