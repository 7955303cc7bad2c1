#include "sim/cost/alpha_beta.hpp"

#include <cassert>
#include <cmath>

namespace gradwire {

AlphaBeta::AlphaBeta(Seconds alpha, Seconds beta_per_byte)
    : alpha_(alpha), beta_per_byte_(beta_per_byte) {
  assert(std::isfinite(alpha.count()) && alpha.count() >= 0);
  assert(std::isfinite(beta_per_byte.count()) && beta_per_byte.count() >= 0);
}

CollectiveCost AlphaBeta::price(const Pattern& pattern, Bytes size) const {
  CollectiveCost cost;
  cost.alone = alpha_ + static_cast<double>(size.count()) * beta_per_byte_;
  cost.algorithm = pattern.algorithm;
  cost.source = "fit";
  return cost;
}

}  // namespace gradwire
