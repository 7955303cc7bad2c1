#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/flow_graph.hpp"
#include "sim/engine/refinement.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {

/// What flows of each class share with others: a column for each class, and a row for links that
/// limit the same of them in the same proportion.
[[nodiscard]] FlowProblem make_problem(const FlowGraph& graph, const Partition& partition);

/// The problem in which each column takes the place that `renamed` gives it; of several in one
/// place the weights add up.
/// @param hops  of the old ones.
[[nodiscard]] FlowProblem join_columns(const FlowProblem& problem,
                                       const std::vector<std::uint32_t>& renamed,
                                       std::size_t columns, const std::vector<Hop>& hops);

}  // namespace gradwire
