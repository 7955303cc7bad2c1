#pragma once

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

}  // namespace gradwire
