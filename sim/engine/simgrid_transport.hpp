#pragma once

#include <memory>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// Loads SimGrid and its libraries, which make_simgrid_transport does otherwise: processes that are
/// forked afterwards share them.
/// @throws std::runtime_error where they are not to be found
void load_simgrid();

/// This process, or one that it was forked from, has loaded it.
[[nodiscard]] bool simgrid_is_loaded();

/// A transport over SimGrid's flow model, set to plain max-min fairness.
///
/// SimGrid keeps global state: one at a time, one after the other in a process. Few of them: 3.32
/// registers its callbacks anew for each, so that each slows the flows of all later ones by 30 ns.
/// @throws TooManyFlows, from start(), when far more flows are in flight at once than there are
/// columns (see lanes_per_column in the .cpp).
[[nodiscard]] std::unique_ptr<Transport> make_simgrid_transport(FlowProblem problem);

/// The version of SimGrid that this was compiled with: "3.32". Loads it.
[[nodiscard]] const char* simgrid_version();

}  // namespace gradwire
