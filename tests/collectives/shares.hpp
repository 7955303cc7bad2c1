#pragma once

#include <algorithm>
#include <map>

#include "sim/collectives/pattern.hpp"

namespace gradwire::test {

/// Bytes that a rank sends / size of the collective, the largest over ranks.
inline double share_per_rank(const Pattern& pattern) {
  std::map<int, double> sent;
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) sent[flow.source] += flow.share;
  }
  double most = 0;
  for (const auto& [rank, share] : sent) most = std::max(most, share);
  return most;
}

}  // namespace gradwire::test
