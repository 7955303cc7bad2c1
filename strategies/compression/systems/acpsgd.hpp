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

}  // namespace gradwire
