#pragma once

#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// Channels that carry what one rank sends to one of another machine: 2, or from 2.29 on as many as
/// its port is planned to need (NcclMeasured::peer_channel); fewer where all ranks' would not fit
/// into the channels of the communicator (src/graph/paths.cc, ncclTopoComputeP2pChannels: until
/// 2.28 4 operations a channel, then NCCL_MAX_DEV_WORK_P2P_PER_BATCH; both alike for every release
/// before, assumed).
/// @param channels  of the communicator, a power of two; @param port  GB/s
[[nodiscard]] int nccl_channels_to_peer(const NcclConstants& constants, int ranks, int channels,
                                        double port);

/// us that the channels of the busiest rank take for what it sends to other machines by grouped
/// sends and receives: 0 inside one machine.
/// REQUIRES: question.algorithm is direct.
[[nodiscard]] double nccl_peers_moving(const NcclConstants& constants, const NcclSystem& system,
                                       const NcclQuestion& question, const NcclFacts& facts);

}  // namespace gradwire
