#pragma once

#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// us: what a run takes on links that nobody else uses, `facts` of the pattern that is run.
/// @param gpus_per_process  GPUs that one process launches on, >= 1.
/// @param channel_share     of the channels that the pattern has, those in use: 0..1.
/// REQUIRES: nccl_has, `facts.nvlink_per_byte` or `facts.other_per_byte` above 0.
[[nodiscard]] double nccl_measured_time(const NcclConstants& constants, const NcclSystem& system,
                                        const NcclQuestion& question, const NcclFacts& facts,
                                        int gpus_per_process, double channel_share);

}  // namespace gradwire
