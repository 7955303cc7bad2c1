#pragma once

#include <optional>
#include <string_view>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"

namespace gradwire::test {

/// Time of an uncontended ring all-reduce on equal links: 2(n-1) (alpha + size / (n rate)).
/// @param alpha  latency of a step.
/// @param rate   of the slowest hop, all channels together: what nccl-tests calls bus bandwidth.
/// REQUIRES: ranks >= 1, rate > 0.
[[nodiscard]] Seconds ring_all_reduce_time(int ranks, Bytes size, Seconds alpha,
                                           BytesPerSecond rate);

/// Time of a broadcast down a chain in equal pieces, uncontended on equal links: the first piece
/// takes n-1 rounds, each other one round more: (n-1 + pieces-1) (alpha + size / (pieces rate)).
/// @param alpha  latency of a round.
/// @param rate   of the slowest hop, all channels together.
/// REQUIRES: ranks >= 1, pieces >= 1, rate > 0.
[[nodiscard]] Seconds chain_broadcast_time(int ranks, int pieces, Bytes size, Seconds alpha,
                                           BytesPerSecond rate);

/// An uncontended algorithm on equal links, as the models of Hockney (alpha-beta) give it.
struct ClosedForm {
  double steps = 0;  ///< messages that follow each other, each with the latency alpha
  double share = 0;  ///< of the size, that goes over a link one after the other

  /// steps alpha + share size / rate. REQUIRES: rate > 0.
  [[nodiscard]] Seconds time(Bytes size, Seconds alpha, BytesPerSecond rate) const {
    return steps * alpha + share * (size / rate);
  }
};

/// The closed form of an algorithm of algorithms() whose ranks have each a link of their own of the
/// same rate, both ways at once, into a switch that takes all. With p = 2^floor(log2 n), f = 1 when
/// n is no power of two, else 0, and q = (n-1)/n:
///
/// | algorithm          | collective                | steps            | share          |
/// | ring               | all_reduce                | 2(n-1)           | 2q             |
/// |                    | reduce_scatter, all_gather| n-1              | q              |
/// |                    | broadcast, reduce, c pieces | n-2+c          | (n-2+c)/c      |
/// | ring, direct       | send_recv                 | 1                | 1              |
/// | halving_doubling   | all_reduce, n = p         | 2 log2 n         | 2q             |
/// |                    | reduce_scatter, all_gather, n = p | log2 n   | q              |
/// | recursive_doubling | all_reduce                | log2 p + 2f      | log2 p + 2f    |
/// |                    | all_gather, n = p         | log2 n           | q              |
/// | rabenseifner       | all_reduce                | 2 log2 p + 2f    | 2(p-1)/p + 2f  |
/// |                    | reduce                    | 2 log2 p + f     | 2(p-1)/p + f   |
/// | binomial_tree      | broadcast, reduce         | ceil(log2 n)     | ceil(log2 n)   |
/// |                    | scatter, gather           | ceil(log2 n)     | q              |
/// | pat                | reduce_scatter, all_gather| ceil(log2 n)     | q              |
/// | pairwise           | all_to_all                | n-1              | q              |
/// | direct             | all_to_all, gather, scatter | 1              | q              |
/// | torus              | all_reduce                | 2 sum(d_i - 1)   | 2q             |
///
/// Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication
/// operations in MPICH, IJHPCA 19 (2005), without its reduction term; chain: J. Pjesivac-Grbovic et
/// al., Performance analysis of MPI collective operations, Cluster Computing 10 (2007), pipeline.
/// @return nothing for what is not in the table (binary blocks and folded all-gathers have none).
/// REQUIRES: ranks >= 1. For one rank both are 0.
[[nodiscard]] std::optional<ClosedForm> closed_form(std::string_view algorithm, CollectiveKind kind,
                                                    int ranks);

/// Links of one kind.
struct Hops {
  Seconds alpha;        ///< latency of a step
  BytesPerSecond rate;  ///< inside: around the machine's rings; across: of one machine
};

/// Time of an uncontended hierarchical all-reduce: 2(g-1) (alpha_i + size / (g rate_i)) inside the
/// machines and 2(m-1) (alpha_a + size / (m rate_a)) across, whose rate all g ranks share.
/// REQUIRES: both counts >= 1, rates > 0.
[[nodiscard]] Seconds hierarchical_all_reduce_time(int ranks_per_machine, int machines, Bytes size,
                                                   const Hops& inside, const Hops& across);

}  // namespace gradwire::test
