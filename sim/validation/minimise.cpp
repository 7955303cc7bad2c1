#include "sim/validation/minimise.hpp"

#include <cassert>

namespace gradwire::validation {

double minimise(double low, double high, int steps, const std::function<double(double)>& value) {
  constexpr double golden = 0.6180339887498949;
  assert(low < high && steps >= 1);
  double left = high - golden * (high - low);
  double right = low + golden * (high - low);
  double at_left = value(left);
  double at_right = value(right);
  for (int step = 0; step < steps; ++step) {
    if (at_left < at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - golden * (high - low);
      if (step + 1 < steps) at_left = value(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + golden * (high - low);
      if (step + 1 < steps) at_right = value(right);
    }
  }
  return (low + high) / 2;
}

}  // namespace gradwire::validation
