#pragma once

#include <string>
#include <vector>

#include "calibration/attribution/collectives.hpp"
#include "calibration/import/nccl_tests.hpp"

namespace gradwire::calibration {

/// The collectives of a trace as measured series, one an operation and number of ranks. Of several
/// runs of one size the shortest counts: a kernel that was launched before the other ranks' also
/// contains the wait for them. The size is nccl-tests': an all-gather's and a reduce-scatter's of
/// all ranks together.
/// @param ranks  0: as the trace tells.   @param nodes  machines that they were on.
/// @throws ConfigError when no collective has an operation that we know, a size and ranks.
[[nodiscard]] ImportedTables tables_of(const std::vector<TracedCollective>& collectives,
                                       const std::string& file, int ranks, int nodes);

}  // namespace gradwire::calibration
