#pragma once

#include <memory>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// Solves the max-min problem anew at every event. Slow, short, independent of SimGrid: its oracle.
[[nodiscard]] std::unique_ptr<Transport> make_reference_transport(FlowProblem problem);

}  // namespace gradwire
