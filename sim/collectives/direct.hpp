#pragma once

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

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

}  // namespace gradwire
