#pragma once

#include "sim/cost/nccl_constants.hpp"
#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// Channels that work on a collective, of those that a graph's are laid twice to (nccl_kernel):
/// fewer while a thread would have too few bytes (NCCL v2.10.3, src/enqueue.cc, getAlgoInfo;
/// thresholds in src/include/comm.h, of LL's rings times the ranks in src/graph/tuning.cc).
[[nodiscard]] int nccl_channels_at_work(const NcclSystem& system, const NcclQuestion& question);

/// us that a port's provider needs one after the other for the messages of a collective that come
/// before their receives are posted, PortSpec::late_message each. A connection posts as many
/// receives ahead as it has slots; a collective of more messages gets ahead of them. Rings of
/// all-reduces, reduce-scatters and all-gathers, and trees; 0 for others (not modelled).
///
/// What shows it: Polaris and Sirius (argonne-lcf/alcf-nccl-tests, env 4). A step of a ring takes
/// 10 us with one or two channels, 20 with four and 40 with two slices in each, on 2, 8 and 256
/// machines, whatever its bytes below the port's bandwidth.
[[nodiscard]] double nccl_late_messages(const NcclConstants& constants, const NcclSystem& system,
                                        const NcclQuestion& question, const NcclFacts& facts);

/// us that a Simple hop between machines takes longer where its ports do not reach GPU memory: a
/// slice of a ring, or a chunk of a tree, of every channel of the port is stored into host memory
/// before the NIC reads it, and loaded from there after the other NIC wrote it. LL's buffers are in
/// host memory whatever the ports can (NCCL, src/transport/net.cc). Of other algorithms, and of
/// broadcasts and reductions: 0 (not modelled).
[[nodiscard]] double nccl_staging_latency(const NcclConstants& constants, const NcclSystem& system,
                                          const NcclQuestion& question, const NcclFacts& facts);

/// us that a hop between machines takes longer where its message is more than a packet and its
/// receiver has to read it, PortSpec::rendezvous; of the same algorithms.
[[nodiscard]] double nccl_rendezvous(const NcclConstants& constants, const NcclSystem& system,
                                     const NcclQuestion& question, const NcclFacts& facts);

/// us that a tree's connection takes for all its messages but the first, where each is read: a port
/// begins to read the next one when it has the one before. 0 for other algorithms: a ring's step
/// waits for its last message anyway.
[[nodiscard]] double nccl_messages_in_turn(const NcclConstants& constants, const NcclSystem& system,
                                           const NcclQuestion& question, const NcclFacts& facts);

}  // namespace gradwire
