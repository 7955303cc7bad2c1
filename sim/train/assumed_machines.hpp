#pragma once

#include "sim/core/node_graph.hpp"
#include "sim/core/result.hpp"
#include "sim/train/job.hpp"

namespace gradwire {

/// Ranks of several machines talk over TCP.
[[nodiscard]] bool talks_over_tcp(const Job& job);

/// A machine that talks to others through as many ports as its type often has; null: none.
[[nodiscard]] const NodeGraph* of_assumed_ports(const Job& job);

/// Warns of what nobody has stated of the machines, where the time hangs on that (`ports-assumed`,
/// `staging-assumed`). REQUIRES: the result has its doubts.
void warn_of_assumed(const Job& job, RunResult& result);

}  // namespace gradwire
