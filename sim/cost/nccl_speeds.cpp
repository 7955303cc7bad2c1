#include "sim/cost/nccl_speeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "sim/cost/nccl_constants.hpp"

namespace gradwire {
namespace {

/// Bandwidths of a channel that NCCL tries, GB/s (v2.28.9, src/graph/search.cc). Before Hopper:
constexpr std::array local_speeds = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                     9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array network_speeds = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                       7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array hopper_local_speeds = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0,
                                            15.0, 12.0, 11.0, 6.0,  3.0};
constexpr std::array hopper_network_speeds = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                              15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array blackwell_local_speeds = {90.0, 80.0, 70.0, 60.0, 50.0, 40.0,
                                               30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array blackwell_network_speeds = {96.0, 48.0, 45.1, 42.0, 40.0, 30.0,
                                                 24.0, 22.0, 20.0, 17.5, 15.0, 12.0,
                                                 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

std::span<const double> speeds_for(int capability, bool is_across) {
  if (capability >= blackwell_capability) {
    return is_across ? std::span<const double>(blackwell_network_speeds) : blackwell_local_speeds;
  }
  if (capability >= hopper_capability) {
    return is_across ? std::span<const double>(hopper_network_speeds) : hopper_local_speeds;
  }
  return is_across ? std::span<const double>(network_speeds) : local_speeds;
}

}  // namespace

double nccl_planned_speed(double rate, double over_payload, int capability, bool is_across) {
  const double nominal = over_payload * rate;
  const std::span<const double> speeds = speeds_for(capability, is_across);
  const auto found = std::ranges::find_if(speeds, [&](double speed) { return speed <= nominal; });
  if (found == speeds.end()) return rate;
  if (2 * *found > nominal) return *found;
  double most = 0;
  for (const double speed : speeds.subspan(static_cast<std::size_t>(found - speeds.begin()))) {
    most = std::max(most, speed * std::floor(nominal / speed));
  }
  return most;
}

int nccl_laid_channels(int rings, double speed, int capability) {
  constexpr double fast = 25;
  constexpr double fastest = 50;
  constexpr int few = 4;
  const bool is_enough = capability > ampere_capability && speed < fastest && rings > few;
  return speed < fast || is_enough ? rings : 2 * rings;
}

}  // namespace gradwire
