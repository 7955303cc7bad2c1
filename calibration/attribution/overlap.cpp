#include "calibration/attribution/overlap.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/core/statistics.hpp"

namespace gradwire::calibration {
namespace {

constexpr double share_difference_min = 0.25;
constexpr std::size_t kernels_min = 10;

/// Time with communication: disjoint intervals by start.
std::vector<DeviceInterval> communication_of(const Attribution& attribution) {
  std::vector<DeviceInterval> all;
  for (const IterationTimes& times : attribution.iterations) {
    all.insert(all.end(), times.collectives.begin(), times.collectives.end());
  }
  std::ranges::sort(all, {}, &DeviceInterval::start);
  std::vector<DeviceInterval> joined;
  for (const DeviceInterval& interval : all) {
    if (!joined.empty() && interval.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, interval.end);
    } else {
      joined.push_back(interval);
    }
  }
  return joined;
}

/// One run of a kernel.
struct Run {
  double duration = 0;
  double share = 0;  ///< of it with communication beside it
};

Run run_of(const DeviceInterval& kernel, const std::vector<DeviceInterval>& communication) {
  const Nanoseconds duration = kernel.end - kernel.start;
  if (duration <= 0) return {};
  Nanoseconds beside = 0;
  auto at = std::ranges::upper_bound(communication, kernel.start, {}, &DeviceInterval::end);
  for (; at != communication.end() && at->start < kernel.end; ++at) {
    beside += std::min(at->end, kernel.end) - std::max(at->start, kernel.start);
  }
  return {static_cast<double>(duration),
          static_cast<double>(beside) / static_cast<double>(duration)};
}

/// s of t = t0 (1 + s f) through two runs. Absent: they do not differ in f, or no t0 > 0 fits.
std::optional<double> slope(const Run& least, const Run& most) {
  if (most.share - least.share < share_difference_min || least.duration <= 0) return std::nullopt;
  const double below = least.duration * most.share - most.duration * least.share;
  if (below <= 0) return std::nullopt;
  return (most.duration - least.duration) / below;
}

}  // namespace

std::map<std::string, OverlapSlowdown> overlap_slowdown(const Attribution& attribution) {
  const std::vector<DeviceInterval> communication = communication_of(attribution);
  std::map<std::string, std::vector<double>> slopes;
  if (communication.empty()) return {};
  const IterationTimes& first = attribution.iterations.front();
  for (std::size_t kernel = 0; kernel < first.kernels.size(); ++kernel) {
    std::optional<Run> least;
    std::optional<Run> most;
    for (const IterationTimes& times : attribution.iterations) {
      // Iterations that ran other kernels (another algorithm of a convolution) cannot be compared.
      if (times.layer_of_kernel != first.layer_of_kernel) continue;
      const Run run = run_of(times.kernels[kernel], communication);
      if (!least || run.share < least->share) least = run;
      if (!most || run.share > most->share) most = run;
    }
    const auto layer = static_cast<std::size_t>(first.layer_of_kernel[kernel]);
    if (const auto found = slope(*least, *most)) {
      slopes[attribution.layers[layer].kind].push_back(*found);
    }
  }
  std::map<std::string, OverlapSlowdown> slowdowns;
  for (const auto& [kind, values] : slopes) {
    if (values.size() < kernels_min) continue;
    slowdowns[kind] = {1 + std::max(0.0, median(values)), static_cast<int>(values.size())};
  }
  return slowdowns;
}

}  // namespace gradwire::calibration
