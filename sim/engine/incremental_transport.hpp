#pragma once

#include <memory>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// Our own engine model: each event costs what it changes (FairRates), where SimGrid solves the
/// whole problem anew. For problems of thousands of columns; any number of flows at once, and any
/// number of transports in a process. Without slack the same ends as theirs:
/// tests/engine/transport_test.cpp.
///
/// @param slack  by which share of its time in flight a flow's end may be reported late, >= 0: ends
/// that
///               lie so near are reported together, and the rates change once for all. What has
///               ended keeps its rate until then: no end is early.
[[nodiscard]] std::unique_ptr<Transport> make_incremental_transport(const FlowProblem& problem,
                                                                    double slack = 0);

}  // namespace gradwire
