#pragma once

#include <optional>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::calibration {

/// A layer's times over the iterations.
struct LayerSummary {
  Seconds forward;               ///< median
  Seconds backward;              ///< median
  std::optional<Seconds> ready;  ///< median end of its backward since backward's start
  double stdev = 0;  ///< relative, of forward and backward together, without the iteration's factor
  LayerRecording recording;
};

/// Medians over the iterations of what one iteration took, and how it scatters.
///
/// Where there are at least five iterations, the first and the last are left out of medians and
/// percentiles: a profiler starts and stops in them. Deviations are over all.
struct StepSummary {
  std::vector<LayerSummary> layers;
  Seconds period;    ///< see IterationTimes; the span where no iteration follows another
  Seconds busy;      ///< layers, optimizer and other
  Seconds busy_all;  ///< and copies of the wrapper and communication
  Seconds optimizer;
  Seconds other;
  Seconds unlinked;
  Seconds wrapper;
  Seconds wrapper_stream;
  Seconds communication;
  Seconds exposed;
  /// Host time to launch a layer in one direction: the mean of forward and backward medians of the
  /// iteration in which the host was fastest, which is the one that no full launch queue held up.
  Seconds host_launch;
  int wrapper_records = 0;
  std::size_t iterations = 0;
  RecordedExtras recording;  ///< period, busy, factor and layers; checks are checks_of()
};

/// REQUIRES: at least one iteration.
[[nodiscard]] StepSummary summarise(const Attribution& attribution);

/// Jitter of whole iterations. REQUIRES: at least one value, all above 0.
[[nodiscard]] IterationFactor iteration_factor(const std::vector<double>& times);

}  // namespace gradwire::calibration
