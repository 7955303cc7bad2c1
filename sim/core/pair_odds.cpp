#include "sim/core/pair_odds.hpp"

#include <cassert>
#include <cmath>

namespace gradwire {

double odds_of_faster(double ratio, const PairDoubts& doubts) {
  assert(ratio > 0);
  const double difference = std::log(ratio);
  const double x = difference / std::hypot(doubts.alone, doubts.of_difference * difference);
  return 0.5 * (1 + x / std::sqrt(2 + x * x));
}

}  // namespace gradwire
