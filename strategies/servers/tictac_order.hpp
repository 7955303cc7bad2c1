#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

// In which order parameter servers send the variables that forward passes wait for. Both rules are
// made for graphs; the layers here are a chain, in which a layer needs the variables of all layers
// up to its own.
//
// Source: Hashemi et al., TicTac: Accelerating distributed deep learning with communication
// scheduling, MLSys 2019, section 4 (properties M, P, M+; algorithms TAC and TIC).

/// Timing-independent: a pull is as urgent as the fewest pulls that some operation needs in all,
/// among the operations that need this one and at least one other. In a chain of layers that is the
/// order of the forward pass; tensors of one layer are equal, and go in order of registration.
/// @return by tensor, 0 goes first.
[[nodiscard]] std::vector<int> tic_order(const JobView& job);

/// Timing-aware: again and again the best of the pulls that are left. Of two, A goes before B when
/// min(P_B, M_A) < min(P_A, M_B), M being a pull's time and P that of the computation which waits
/// for it alone; where they are equal, the one with the smaller M+: the least time of all pulls
/// left that some operation needs, of those that need this one and another.
///
/// A pull takes the latency and its bytes at the network's bandwidth, a layer its forward time.
/// REQUIRES: the tensors' layers are those of job.layers.
/// @return by tensor, 0 goes first.
[[nodiscard]] std::vector<int> tac_order(const JobView& job);

}  // namespace gradwire
