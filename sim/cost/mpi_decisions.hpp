#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Which of Open MPI's fixed decisions hold.
enum class MpiDecisions : std::uint8_t {
  before_4_1,  ///< all-reduce and all-gather only; the other collectives as 4.1
  since_4_1,
};

/// The algorithm that coll/tuned takes by its fixed decisions, by a name of algorithms() or
/// "segmented_ring".
///
/// Source: Open MPI, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, for commutative operators.
/// Algorithms that are not planned here stand for others: reduce and broadcast one after the other
/// ("nonoverlapping") for recursive_doubling, Bruck's for recursive_doubling or direct, neighbour
/// exchange for ring, butterfly for halving_doubling, linear for direct; every tree and chain of
/// broadcast and reduce for binomial_tree.
/// @param size  as CollectiveKind counts it. REQUIRES: ranks >= 2; kind is not send_recv.
[[nodiscard]] std::string_view mpi_algorithm(MpiDecisions decisions, CollectiveKind kind, int ranks,
                                             Bytes size);

/// Every algorithm that mpi_algorithm gives for some size, each once. REQUIRES: as mpi_algorithm.
[[nodiscard]] std::vector<std::string_view> mpi_algorithms(MpiDecisions decisions,
                                                           CollectiveKind kind, int ranks);

}  // namespace gradwire
