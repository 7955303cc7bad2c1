#pragma once

#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// Ranks up to which every pair of an all-to-all is planned. Beyond, n(n-1) flows are too many;
/// `all_to_all_shifts` shifts stand for all n-1 (shift s: every rank sends to the one s after it).
constexpr int all_to_all_exact_ranks = 512;

/// Shifts that are planned beyond all_to_all_exact_ranks, each with the bytes of those that it
/// stands for. With at most g ranks on a machine, shift g/2 stands for 1 to g-1 and n-g/2 for the
/// last g-1, which stay partly inside; of each of 8 even ranges of the others one is taken, all of
/// different remainders by g (for g up to 8), as rails tell equal places from others. Our choice:
/// held to the exact plan at 64 to 512 ranks by the tests.
constexpr int all_to_all_shifts = 10;

/// The sample is taken where n is at least this many times g; on fewer machines all is exact.
constexpr int all_to_all_machines_min = 4;

/// All-to-all in n-1 rounds: in round s every rank sends its part for the rank s after it, and
/// waits (Open MPI, coll/base/coll_base_alltoall.c, pairwise).
///
/// Steps: n-1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_pairwise_all_to_all(const Cluster& cluster, const Placement& members);

/// All-to-all with every message at once: NCCL's grouped sends and receives (nccl-tests,
/// src/alltoall.cu).
///
/// Steps: 1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_direct_all_to_all(const Cluster& cluster, const Placement& members);

/// How an all-to-all goes, and how many shifts are planned of its n-1.
struct AllToAllOptions {
  bool at_once = false;  ///< all shifts together, else one after the other
  int shifts = all_to_all_shifts;
};

/// The same with a number of shifts of one's own; at n-1 or more it is exact.
/// REQUIRES: at least 3 shifts, and as many beside the 2(g-1) nearest, or n-1. @throws
/// SimulationError as lay_out.
[[nodiscard]] Pattern plan_all_to_all(const Cluster& cluster, const Placement& members,
                                      const AllToAllOptions& options);

/// Broadcast from rank 0 down a binomial tree: in the round of distance d (falling powers of two),
/// each rank that is a multiple of 2d sends all to the rank d after it (MPICH,
/// src/mpi/coll/bcast, binomial).
///
/// Steps: ceil(log2 n). Bytes per rank: ceil(log2 n) of the size by the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_broadcast(const Cluster& cluster, const Placement& members);

/// Reduce to rank 0: the broadcast backwards.
///
/// Steps: ceil(log2 n). Bytes per rank: the size, by all but the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_reduce(const Cluster& cluster, const Placement& members);

/// Scatter from rank 0 down the same tree: each message holds the parts of the receiver's subtree.
///
/// Steps: ceil(log2 n). Bytes per rank: (n-1)/n of the size by the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_scatter(const Cluster& cluster, const Placement& members);

/// Gather to rank 0: the scatter backwards.
///
/// Steps: ceil(log2 n). Bytes per rank: the parts of its subtree, at most p/(2n) of the size where
/// p is the power of two >= n; received by the root: (n-1)/n.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_binomial_gather(const Cluster& cluster, const Placement& members);

/// Pieces in which a channel's bytes pass down the chain. Our choice: NCCL forwards 512 KiB at a
/// time with the Simple protocol (4 MiB of buffer a channel in NCCL_STEPS = 8 slots,
/// BROADCAST_CHUNKSTEPS = 1) and single lines with LL and LL128, so the count follows the size; a
/// pattern knows no size. 64 is what Simple gives for 128 MiB over 4 channels; filling the chain
/// then costs (n-2)/64 of the time that the bytes take.
constexpr int chain_pieces = 64;

/// Broadcast from rank 0 along the rings of plan_rings, the bytes split evenly over them: each rank
/// passes every piece on to the next one of its ring, the last one to nobody.
///
/// Steps: chain_pieces, each over n-1 hops.
/// Bytes per rank: the size, received once; sent once by all but the last of each channel. For
/// n = 1 there is no phase.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_broadcast(const Cluster& cluster, const Placement& members);

/// Reduce to rank 0 along the same chains backwards: each rank adds its own to every piece and
/// passes it on towards the root.
///
/// Steps: chain_pieces, each over n-1 hops.
/// Bytes per rank: the size, sent once; received once by all but the first of each channel.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_chain_reduce(const Cluster& cluster, const Placement& members);

/// Pieces that the data of a CollNet collective go in (see tree_pieces).
constexpr int collnet_pieces = 64;

/// All-reduce in which the network's switches reduce (SHARP; NCCL's CollNetChain, v2.28.9,
/// src/device/all_reduce.h): in each machine a chain of GPUs adds up, its first GPU sends the sum
/// into the network and gets the result, which goes back down the chain. The bytes are split over
/// the NICs that plan_rings uses.
///
/// What switches exchange among themselves is not planned: each NIC carries its part once in each
/// direction. Steps: collnet_pieces, each over 2 (ranks of a machine - 1) + 1 hops.
/// Bytes per rank: 2 S at most; through the NICs of a machine S.
/// @throws SimulationError on one machine, or as plan_rings.
[[nodiscard]] Pattern plan_collnet_chain_all_reduce(const Cluster& cluster,
                                                    const Placement& members);

/// The same as NCCL's CollNetDirect: each GPU sends its part for a NIC straight to the GPU at that
/// NIC, and gets its part of the result from there.
///
/// Steps: 3 phases. Bytes per rank: 2 S at most; through the NICs of a machine S.
/// @throws SimulationError on one machine, or as plan_rings.
[[nodiscard]] Pattern plan_collnet_direct_all_reduce(const Cluster& cluster,
                                                     const Placement& members);

/// Every rank sends its part to rank 0, all at once.
///
/// Steps: 1. Bytes per rank: 1/n of the size; received by the root: (n-1)/n.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_direct_gather(const Cluster& cluster, const Placement& members);

/// Rank 0 sends every rank its part, all at once.
///
/// Steps: 1. Bytes per rank: (n-1)/n of the size by the root.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_direct_scatter(const Cluster& cluster, const Placement& members);

/// Every rank sends its message to the next one in rank order, the last one to the first, all at
/// once (nccl-tests, src/sendrecv.cu).
///
/// Steps: 1. Bytes per rank: the size.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_direct_send_recv(const Cluster& cluster, const Placement& members);

/// The same as a variant of `ring`.
[[nodiscard]] Pattern plan_ring_send_recv(const Cluster& cluster, const Placement& members);

/// All-reduce by halving and doubling the vector: a reduce-scatter in which pairs at distance
/// 1, 2, 4, ... exchange halves of what they still hold, then the same backwards. When n is no
/// power of two, by binary blocks, as Gloo does (gloo/allreduce_halving_doubling.h): the ranks are
/// split into blocks of falling powers of two; each block halves by itself, a smaller one adds its
/// parts to those of the next larger one as soon as it has them, and gets the result from it.
///
/// Steps: 2 floor(log2 n).
/// Bytes per rank: 2(n-1)/n of the size for a power of two; else at most 2 of it.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_all_reduce(const Cluster& cluster,
                                                       const Placement& members);

/// Reduce-scatter by the halving alone. The parts end up in the order of the ranks' bits reversed,
/// which libraries allow for. When n is no power of two, after a hand-over (Fold), as MPICH does
/// (src/mpi/coll/reduce_scatter, recursive halving).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: (n-1)/n of the size; received, less than 3 of it when n is no power of two.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_reduce_scatter(const Cluster& cluster,
                                                           const Placement& members);

/// All-gather by the doubling alone: plan_halving_doubling_reduce_scatter backwards, with as many
/// steps, and what is sent there received.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_halving_doubling_all_gather(const Cluster& cluster,
                                                       const Placement& members);

/// All-reduce in three phases, as Horovod's hierarchical and torus all-reduce
/// (horovod/common/ops/nccl_operations.cc): reduce-scatter around the rings inside each machine
/// (those of plan_rings), all-reduce around a ring of the ranks of equal place on each machine, all
/// places at the same time, all-gather inside. A rank's place is its position among its machine's
/// ranks by GPU. With g ranks on each of m machines, n = g m:
///
/// Steps: 2(g-1) + 2(m-1).
/// Bytes per rank: 2(g-1)/g + 2(m-1)/(m g) = 2(n-1)/n of the size.
/// @throws SimulationError as machines_of, and when machines have unequal numbers of ranks.
[[nodiscard]] Pattern plan_hierarchical_all_reduce(const Cluster& cluster,
                                                   const Placement& members);

/// Reduce-scatter inside, then across machines. Steps: (g-1) + (m-1). Bytes per rank: (n-1)/n of
/// the size. @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_reduce_scatter(const Cluster& cluster,
                                                       const Placement& members);

/// All-gather across machines, then inside. Steps: (g-1) + (m-1). Bytes per rank: (n-1)/n of the
/// size. @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_all_gather(const Cluster& cluster,
                                                   const Placement& members);

/// Broadcast from rank 0 down a chain of one rank a machine, those of its place, then from each of
/// them down the chains of its machine's rings; both in pieces (chain_pieces).
///
/// Steps: twice chain_pieces, over m-1 and then g-1 hops. Bytes per rank: the size in each.
/// @throws SimulationError as plan_hierarchical_all_reduce.
[[nodiscard]] Pattern plan_hierarchical_broadcast(const Cluster& cluster, const Placement& members);

/// Do NVSwitches join all of these GPUs of each machine, two or more in each? Whether the switches
/// can reduce depends on the GPUs (NVLink SHARP: compute capability 9.0 and later), which a cluster
/// does not say: whoever plans asks for that.
[[nodiscard]] bool has_nvswitch(const Cluster& cluster, const Placement& members);

/// Collectives of one machine through NVSwitches that reduce and multicast (NVLink SHARP): NCCL's
/// NVLS (v2.28.9, src/device/all_reduce.h). Each GPU owns 1/n of the result. A reduction reads the
/// owned part from every GPU through the switch, which passes on the sum; a multicast is sent once
/// and comes out at every GPU.
///
/// All-reduce: every GPU's links carry S and S/n in each direction. Steps: 2.
/// Reduce-scatter: S out of each GPU, S/n into it. Steps: 1.
/// All-gather: S/n out of each GPU, S into it. Steps: 1.
/// @throws SimulationError on several machines, or where has_nvswitch is false.
[[nodiscard]] Pattern plan_nvls_all_reduce(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_nvls_reduce_scatter(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_nvls_all_gather(const Cluster& cluster, const Placement& members);

/// All-reduce by NVLS inside each machine and a double binary tree (plan_tree_all_reduce) between
/// the machines, each NIC carrying its part. Both go on at the same time, piece by piece.
///
/// Steps: tree_pieces, each over 2 depth hops at most. Bytes per rank: (1 + 1/g) S inside a machine
/// of g GPUs; through the NICs of a machine 2 S at most.
/// @throws SimulationError on one machine, where has_nvswitch is false, or as plan_rings.
[[nodiscard]] Pattern plan_nvls_tree_all_reduce(const Cluster& cluster, const Placement& members);

/// NCCL's PAT (parallel aggregated trees, from 2.23 on; "PAT: a new algorithm for all-gather and
/// reduce-scatter operations at scale", S. Jeaugey, arXiv 2506.20252): every part goes down its own
/// binomial tree, and what goes the same way at the same time goes together. Planned as rounds of
/// distance 2^k, the longest first (all_gather; backwards for reduce_scatter), in which a rank
/// sends all the parts that it has and the other still lacks.
///
/// NCCL runs it with one GPU in each machine only.
/// Steps: ceil(log2 n). Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError when a machine holds two ranks, or as lay_out.
[[nodiscard]] Pattern plan_pat_all_gather(const Cluster& cluster, const Placement& members);
[[nodiscard]] Pattern plan_pat_reduce_scatter(const Cluster& cluster, const Placement& members);

/// Rabenseifner's all-reduce: a reduce-scatter by recursive halving (pairs at distance 1, 2, 4,
/// ...), then an all-gather by recursive doubling, backwards along the same pairs. When n is no
/// power of two, between a hand-over of whole vectors and a hand-back (Fold; MPICH,
/// src/mpi/coll/allreduce, reduce-scatter and all-gather).
///
/// Steps: 2 log2 n; 2 floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: 2(p-1)/p of the size, p = 2^floor(log2 n); 1 more for ranks that stand in for
/// another.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_rabenseifner_all_reduce(const Cluster& cluster,
                                                   const Placement& members);

/// Rabenseifner's reduce to rank 0: the reduce-scatter of the all-reduce, then a gather up the
/// binomial tree of the same pairs.
///
/// Steps: 2 log2 n; 2 floor(log2 n) + 1 when n is no power of two.
/// Bytes per rank: (p-1)/p of the size halving, and at most 1/2 in the gather.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_rabenseifner_reduce(const Cluster& cluster, const Placement& members);

/// All-reduce by exchanges of the whole vector between pairs at distance 1, 2, 4, ...; for other
/// than powers of two after a hand-over (Fold).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: log2 n of the size; floor(log2 n) + 1 when n is no power of two.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_recursive_doubling_all_reduce(const Cluster& cluster,
                                                         const Placement& members);

/// All-gather by exchanges of all that one has between pairs at distance 1, 2, 4, ...; for other
/// than powers of two after a hand-over of one's own part (Fold; ours: MPICH and Open MPI take
/// Bruck's algorithm there).
///
/// Steps: log2 n; floor(log2 n) + 2 when n is no power of two.
/// Bytes per rank: (n-1)/n of the size received, and as many sent for a power of two; less than 3
/// of it sent else.
/// @throws SimulationError as lay_out.
[[nodiscard]] Pattern plan_recursive_doubling_all_gather(const Cluster& cluster,
                                                         const Placement& members);

/// All-reduce around the rings of plan_rings, the bytes split evenly over them: a reduce-scatter
/// (n-1 steps), then an all-gather (n-1 steps), each step moving 1/n of a channel's bytes by one
/// rank.
///
/// Steps: 2(n-1).
/// Bytes per rank: 2(n-1)/n of the size, sent and received. For n = 1 there is no phase.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_all_reduce(const Cluster& cluster, const Placement& members);

/// The first half of it by itself. Steps: n-1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_reduce_scatter(const Cluster& cluster, const Placement& members);

/// The second half of it by itself. Steps: n-1. Bytes per rank: (n-1)/n of the size.
/// @throws SimulationError as plan_rings.
[[nodiscard]] Pattern plan_ring_all_gather(const Cluster& cluster, const Placement& members);

/// One of the three, of machines that are alike by this fold.
[[nodiscard]] Pattern plan_ring(CollectiveKind kind, const Cluster& cluster,
                                const Placement& members, const MachineFold& fold);

/// The grid that plan_torus_all_reduce lays `ranks` ranks on: the most square one of three
/// dimensions when none of them would be below 4, else the most square one of two. Rising; the
/// product is `ranks`. Empty when there is no grid: a prime number of ranks.
[[nodiscard]] std::vector<int> torus_dimensions(int ranks);

/// All-reduce along the rings of a grid of ranks, one dimension after the other, as on a TPU's
/// torus: reduce-scatter along the last dimension (neighbours in rank order), on what is left along
/// the one before, and so on; then all-gathers the way back. The grid follows the ranks' numbers
/// alone, not the machines. (Horovod's "torus" all-reduce follows the machines: `hierarchical`.)
///
/// Steps: 2 (sum of the dimensions - their number).
/// Bytes per rank: 2(n-1)/n of the size.
/// @throws SimulationError as machines_of, and for a prime number of ranks.
[[nodiscard]] Pattern plan_torus_all_reduce(const Cluster& cluster, const Placement& members);

}  // namespace gradwire
