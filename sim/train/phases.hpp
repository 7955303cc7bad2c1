#pragma once

#include <vector>

#include "sim/core/result.hpp"
#include "sim/core/scenario.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Which iterations of a strategy with phases a run replays.
struct PhaseChoice {
  int first = 0;  ///< number, for the strategy, of the run's first iteration
  std::vector<Warning> warnings{};
};

/// With RunSpec::all_phases the run begins with iteration 0. Else the first measured one is in the
/// phase that lasts, as if all before had been run; a phase that begins too late to be numbered
/// (behind the 2^31 of an int) is never reached.
///
/// Warnings, by code: "steady-phase": iterations were left out for that; "mixed-phases": measured
/// are some of the phase that lasts and some before; "early-phase": only some before;
/// "part-of-a-period": fewer are measured than one period of the strategy has.
[[nodiscard]] PhaseChoice choose_phases(const Phasing& phasing, const RunSpec& run);

}  // namespace gradwire
