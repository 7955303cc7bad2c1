#pragma once

#include "sim/engine/transport.hpp"

namespace gradwire {

/// The level at which the sum of weight * min(demand, level) is the capacity; no_cap: it is less.
/// @param weight_and_demand  of one of `all`: a pair, of which the demand may be no_cap.
template <class All, class WeightAndDemand>
double water_level(double capacity, const All& all, WeightAndDemand weight_and_demand) {
  // From below: the more of them demand less than the level, the higher it is.
  double level = 0;
  for (double before = -1; level > before;) {
    before = level;
    double left = capacity;
    double weights = 0;
    for (const auto& one : all) {
      const auto [weight, demand] = weight_and_demand(one);
      const bool is_held = demand <= level;  // no branch: it would be guessed
      weights += is_held ? 0.0 : weight;
      left -= is_held ? weight * demand : 0.0;
    }
    level = weights > 0 ? left / weights : Transport::no_cap;
  }
  return level;
}

}  // namespace gradwire
