#pragma once

#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// ACP-SGD as its system runs it: buffers of P's on even steps and of Q's on odd ones, filled in
/// backward order; a buffer is reduced when its last gradient's factor is in it.
///
/// Source: lzhangbv/acpsgd, acpsgd.py:98-134 (fusion), 254-344; see AcpSgd.
[[nodiscard]] StrategyMaker read_acp_sgd(Knobs& knobs);

/// The buffers of a step. The threshold is scaled by what the factors of this side are smaller than
/// the matrices; a tensor joins a buffer that is empty or stays within it. Threshold 0: a buffer a
/// tensor.
[[nodiscard]] TensorGroups acp_groups(const JobView& job, std::int64_t rank, Bytes threshold,
                                      bool reduces_p);

/// gTop-k S-SGD as its system runs it: one buffer of all gradients, selected after backward (its
/// hooks synchronise with the GPU, so nothing overlaps), then a tree over host memories.
///
/// Source: hclhkbu/gtopkssgd, allreducer.py:26, 71-163, 235-257; see GlobalTopK. Its threshold of
/// 640 Mi elements merges every model there is into one buffer.
[[nodiscard]] StrategyMaker read_gtopk(Knobs& knobs);

/// PowerSGD as its systems run it: a DDP communication hook, with DDP's knobs beside the hook's; or
/// epfml's package, after backward over all gradients at once.
///
/// Source: see PowerSgd. acpsgd's scripts take the hook with start_powerSGD_iter 3.
[[nodiscard]] StrategyMaker read_powersgd(Knobs& knobs);

/// signSGD as its systems run it. `all_gather`: ddl-benchmarks' signum, merged groups packed in the
/// hook of their last gradient. `rank0`: signSGD with majority vote, in the optimizer's step, over
/// buckets of at most 100 MiB in registration order.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206, 614-626; main/Signum_SGD.py:
/// 43-44, 127-166; see SignCompressor. ddl-benchmarks registers no hooks on one rank: nothing
/// happens.
[[nodiscard]] StrategyMaker read_signsgd(Knobs& knobs);

/// Top-k S-SGD as ddl-benchmarks runs it: groups merged up to a threshold of elements, selection on
/// the GPU in the hook of a group's last gradient, two all-gathers. One rank registers no hooks,
/// and does nothing.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206, 540-544, 608-626 and
/// horovod_mpi_cj.sh (density 0.001, threshold 67108864 elements); see Sparsifier.
[[nodiscard]] StrategyMaker read_topk(Knobs& knobs);

}  // namespace gradwire
