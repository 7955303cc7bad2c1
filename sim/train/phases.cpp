#include "sim/train/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gradwire {

PhaseChoice choose_phases(const Phasing& phasing, const RunSpec& run) {
  const int steady = phasing.steady_from;
  const bool in_reach = steady <= std::numeric_limits<int>::max() - run.warmup - run.iterations;
  PhaseChoice choice;
  if (!run.all_phases && in_reach) choice.first = std::max(0, steady - run.warmup);
  const auto warn = [&choice](const char* code, std::string text) {
    choice.warnings.push_back({code, std::move(text)});
  };
  if (choice.first > 0) {
    warn("steady-phase",
         fmt::format("iterations are counted from {}: the strategy's phase that lasts begins with "
                     "{}, and what it does before comes once (run.phases: all counts from 0)",
                     choice.first, steady));
  } else if (steady >= run.warmup + run.iterations) {
    warn("early-phase",
         fmt::format("all measured iterations come before {}, with which the strategy's phase that "
                     "lasts begins",
                     steady));
  } else if (steady > run.warmup) {
    warn("mixed-phases",
         fmt::format("{} of {} measured iterations come before {}, with which the strategy's phase "
                     "that lasts begins: their mean is of both",
                     steady - run.warmup, run.iterations, steady));
  }
  if (run.iterations < phasing.period) {
    warn("part-of-a-period",
         fmt::format("{} measured iterations are less than the {} after which the strategy repeats "
                     "itself: their mean is of a part (run.iterations: {})",
                     run.iterations, phasing.period, phasing.period));
  }
  return choice;
}

}  // namespace gradwire
