#include "sim/collectives/algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/collectives/machine_fold.hpp"
#include "sim/collectives/planners.hpp"
#include "sim/collectives/tree.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire {

// NOLINTNEXTLINE(readability-function-size): a table
std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> catalogue = {
      {"ring",
       "each rank sends to the next one around a ring; several rings share the bytes",
       "any number of ranks",
       "P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009); NCCL, "
       "src/graph/rings.cc",
       {{CollectiveKind::all_reduce, "2(n-1)", "2(n-1)/n S", plan_ring_all_reduce, plan_ring},
        {CollectiveKind::reduce_scatter, "n-1", "(n-1)/n S", plan_ring_reduce_scatter, plan_ring},
        {CollectiveKind::all_gather, "n-1", "(n-1)/n S", plan_ring_all_gather, plan_ring},
        {CollectiveKind::broadcast, "n-1 hops, in pieces", "S", plan_broadcast},
        {CollectiveKind::reduce, "n-1 hops, in pieces", "S", plan_chain_reduce},
        {CollectiveKind::send_recv, "1", "S", plan_ring_send_recv}}},
      {"tree",
       "up and down a double binary tree of machines, a chain inside each, in pieces",
       "any number of ranks",
       "P. Sanders, J. Speck, J. L. Traeff, Two-tree algorithms for full bandwidth broadcast, "
       "reduction and scan, Parallel Computing 35 (2009); NCCL, src/graph/trees.cc",
       {{CollectiveKind::all_reduce, "2(g-1) + 2 depth hops on machines of g GPUs, in pieces",
         "at most 2 S; 3 S where a machine has fewer ports than GPUs", plan_tree_all_reduce,
         plan_folded_tree}}},
      {"nvls",
       "NVSwitches reduce and multicast (NVLink SHARP)",
       "one machine whose GPUs are connected to NVSwitches; compute capability 9.0 and later",
       "NCCL v2.28.9, src/device/all_reduce.h, src/transport/nvls.cc",
       {{CollectiveKind::all_reduce, "2", "(1 + 1/n) S", plan_nvls_all_reduce},
        {CollectiveKind::reduce_scatter, "1", "S", plan_nvls_reduce_scatter},
        {CollectiveKind::all_gather, "1", "S/n; received: S", plan_nvls_all_gather}}},
      {"nvls_tree",
       "NVSwitches reduce inside each machine, a double binary tree joins the machines",
       "two or more machines, two or more GPUs on NVSwitches in each; compute capability 9.0 and "
       "later",
       "NCCL v2.28.9, src/device/all_reduce.h, src/graph/connect.cc",
       {{CollectiveKind::all_reduce, "2 depth hops, in pieces",
         "(1 + 1/g) S on machines of g GPUs, and at most 2 S through their NICs",
         plan_nvls_tree_all_reduce}}},
      {"pat",
       "each part down a binomial tree of its own, what goes the same way sent together",
       "one rank in each machine",
       "S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, "
       "arXiv 2506.20252",
       {{CollectiveKind::all_gather, "ceil(log2 n)", "(n-1)/n S", plan_pat_all_gather},
        {CollectiveKind::reduce_scatter, "ceil(log2 n)", "(n-1)/n S", plan_pat_reduce_scatter}}},
      {"collnet_direct",
       "the network's switches reduce; in a machine each GPU talks to the one at each NIC",
       "two or more machines on a network that reduces",
       "NCCL v2.28.9, src/device/all_reduce.h, src/transport/coll_net.cc",
       {{CollectiveKind::all_reduce, "3", "at most 2 S", plan_collnet_direct_all_reduce}}},
      {"collnet_chain",
       "the network's switches reduce; a chain inside each machine, in pieces",
       "two or more machines on a network that reduces",
       "NCCL v2.28.9, src/device/all_reduce.h, src/transport/coll_net.cc",
       {{CollectiveKind::all_reduce, "2(g-1) + 1 hops on machines of g GPUs, in pieces",
         "at most 2 S", plan_collnet_chain_all_reduce}}},
      {"halving_doubling",
       "pairs at distance 1, 2, 4, ... exchange halves of what they still hold, then the same "
       "backwards",
       "any number of ranks; other than powers of two by binary blocks (all_reduce, as Gloo) or "
       "after a hand-over to a neighbour (the others, as MPICH)",
       "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations "
       "in MPICH, IJHPCA 19 (2005); Gloo, gloo/allreduce_halving_doubling.h",
       {{CollectiveKind::all_reduce, "2 floor(log2 n)", "2(n-1)/n S; at most 2 S when n is not 2^k",
         plan_halving_doubling_all_reduce},
        {CollectiveKind::reduce_scatter, "log2 n; floor(log2 n) + 2 when n is not 2^k", "(n-1)/n S",
         plan_halving_doubling_reduce_scatter},
        {CollectiveKind::all_gather, "log2 n; floor(log2 n) + 2 when n is not 2^k",
         "(n-1)/n S; less than 3 S when n is not 2^k", plan_halving_doubling_all_gather}}},
      {"recursive_doubling",
       "pairs at distance 1, 2, 4, ... exchange all that they have",
       "any number of ranks; other than powers of two after a hand-over to a neighbour",
       "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations "
       "in MPICH, IJHPCA 19 (2005); MPICH, src/mpi/coll",
       {{CollectiveKind::all_reduce, "log2 n; floor(log2 n) + 2 when n is not 2^k",
         "log2 n S; (floor(log2 n) + 1) S when n is not 2^k", plan_recursive_doubling_all_reduce},
        {CollectiveKind::all_gather, "log2 n; floor(log2 n) + 2 when n is not 2^k",
         "(n-1)/n S; less than 3 S when n is not 2^k", plan_recursive_doubling_all_gather}}},
      {"rabenseifner",
       "reduce-scatter by recursive halving, then all-gather by recursive doubling (all_reduce) or "
       "gather up a binomial tree (reduce)",
       "any number of ranks; other than powers of two after a hand-over to a neighbour",
       "R. Rabenseifner, Optimization of collective reduction operations, ICCS 2004; MPICH, "
       "src/mpi/coll/allreduce and src/mpi/coll/reduce",
       {{CollectiveKind::all_reduce, "2 log2 n; 2 floor(log2 n) + 2 when n is not 2^k",
         "2(p-1)/p S, p = 2^floor(log2 n); S more when n is not 2^k", plan_rabenseifner_all_reduce},
        {CollectiveKind::reduce, "2 log2 n; 2 floor(log2 n) + 1 when n is not 2^k",
         "at most (p-1)/p S + S/2, p = 2^floor(log2 n)", plan_rabenseifner_reduce}}},
      {"binomial_tree",
       "a tree of depth ceil(log2 n) from rank 0, level after level",
       "any number of ranks",
       "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations "
       "in MPICH, IJHPCA 19 (2005); MPICH, src/mpi/coll/bcast",
       {{CollectiveKind::broadcast, "ceil(log2 n)", "ceil(log2 n) S by the root",
         plan_binomial_broadcast},
        {CollectiveKind::reduce, "ceil(log2 n)", "S", plan_binomial_reduce},
        {CollectiveKind::gather, "ceil(log2 n)",
         "its subtree's parts, at most q/(2n) S, q = "
         "2^ceil(log2 n); received by the root (n-1)/n S",
         plan_binomial_gather},
        {CollectiveKind::scatter, "ceil(log2 n)", "(n-1)/n S by the root", plan_binomial_scatter}}},
      {"pairwise",
       "n-1 rounds; in round s every rank sends to the one s after it",
       "any number of ranks; above 512 a sample of 10 rounds stands for all",
       "Open MPI, ompi/mca/coll/base/coll_base_alltoall.c",
       {{CollectiveKind::all_to_all, "n-1", "(n-1)/n S", plan_pairwise_all_to_all}}},
      {"direct",
       "every message by itself, all at once",
       "any number of ranks; all_to_all above 512: a sample of 10 shifts stands for all",
       "NCCL, user guide, point-to-point communication; nccl-tests, src/alltoall.cu, "
       "src/sendrecv.cu",
       {{CollectiveKind::all_to_all, "1", "(n-1)/n S", plan_direct_all_to_all},
        {CollectiveKind::gather, "1", "S/n; received by the root (n-1)/n S", plan_direct_gather},
        {CollectiveKind::scatter, "1", "(n-1)/n S by the root", plan_direct_scatter},
        {CollectiveKind::send_recv, "1", "S", plan_direct_send_recv}}},
      {"hierarchical",
       "reduce-scatter inside the machines, all-reduce across them among ranks of equal place, "
       "all-gather inside",
       "equally many ranks on each machine",
       "Horovod, horovod/common/ops/nccl_operations.cc (hierarchical and torus all-reduce); "
       "M. Cho et al., BlueConnect, SysML 2019",
       {{CollectiveKind::all_reduce, "2(g-1) + 2(m-1), g ranks on each of m machines", "2(n-1)/n S",
         plan_hierarchical_all_reduce},
        {CollectiveKind::reduce_scatter, "(g-1) + (m-1)", "(n-1)/n S",
         plan_hierarchical_reduce_scatter},
        {CollectiveKind::all_gather, "(g-1) + (m-1)", "(n-1)/n S", plan_hierarchical_all_gather},
        {CollectiveKind::broadcast, "m-1 hops, then g-1 hops, in pieces", "at most 2 S",
         plan_hierarchical_broadcast}}},
      {"torus",
       "rings along each dimension of a grid of ranks, one dimension after the other",
       "any number of ranks that is not prime; the most square grid of three dimensions of 4 or "
       "more, else of two",
       "C. Ying et al., Image classification at supercomputer scale, 2018 (2-D gradient "
       "summation on TPU pods)",
       {{CollectiveKind::all_reduce, "2 (sum of the dimensions - their number)", "2(n-1)/n S",
         plan_torus_all_reduce}}},
  };
  return catalogue;
}

const AlgorithmVariant* find_algorithm(std::string_view name, CollectiveKind kind) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name != name) continue;
    const auto found = std::ranges::find(algorithm.variants, kind, &AlgorithmVariant::kind);
    return found == algorithm.variants.end() ? nullptr : &*found;
  }
  return nullptr;
}

Pattern plan_collective(CollectiveKind kind, std::string_view algorithm, const Cluster& cluster,
                        const Placement& members) {
  const AlgorithmVariant* variant = find_algorithm(algorithm, kind);
  if (variant != nullptr) return variant->plan(cluster, members);
  std::vector<std::string_view> able;
  for (const Algorithm& other : algorithms()) {
    if (find_algorithm(other.name, kind) != nullptr) able.push_back(other.name);
  }
  throw SimulationError(fmt::format("no algorithm '{}' for {}; expected {}", algorithm,
                                    name_of(kind), joined_by(able, ", ")));
}

Pattern plan_folded_collective(CollectiveKind kind, std::string_view algorithm,
                               const Cluster& cluster, const Placement& members) {
  const AlgorithmVariant* variant = find_algorithm(algorithm, kind);
  if (variant != nullptr && variant->plan_folded != nullptr) {
    if (const auto fold = fold_of(cluster, members)) {
      Pattern folded = variant->plan_folded(kind, cluster, members, *fold);
      if (folds_exactly(folded)) return folded;
    }
  }
  return plan_collective(kind, algorithm, cluster, members);
}

}  // namespace gradwire
