#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Samples of a time, by nearest rank: the p-th percentile is the sample of index ceil(p n) - 1 in
/// ascending order, the rule of nccl-tests' per-iteration mode.
struct Percentiles {
  std::int64_t count = 0;
  Seconds mean;
  Seconds stdev;  ///< of the sample (n - 1)
  Seconds min;
  Seconds p1;
  Seconds p5;
  Seconds p25;
  Seconds p50;
  Seconds p75;
  Seconds p95;
  Seconds p99;
  Seconds max;

  bool operator==(const Percentiles&) const = default;
};

/// REQUIRES: at least one sample.
[[nodiscard]] Percentiles percentiles_of(std::span<const Seconds> samples);

/// How the times of whole iterations scatter: the factor of an iteration is what it took divided
/// by the median over the iterations.
struct IterationFactor {
  double stdev = 0;
  double lag1 = 0;  ///< autocorrelation of successive factors, -1..1; 0 where it is not defined
  double p5 = 1;
  double p95 = 1;

  bool operator==(const IterationFactor&) const = default;
};

/// What was held against each other when a profile was made from a recording. Absent: not measured.
struct RecordingChecks {
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;
  /// Layers, optimizer and other kernels, as the profile has them, over the time in which the GPU
  /// was busy with them.
  std::optional<double> closure_gpu;
  /// Time in which the GPU was busy over the time from one iteration's first kernel to the next's.
  std::optional<double> closure_span;
  /// Share of the busy time that belongs to no layer and not to the optimizer.
  std::optional<double> other;
  std::optional<double> light_vs_full;  ///< iteration recorded lightly over not, p5 of each
  std::optional<double> full_vs_light;  ///< kernels recorded fully over recorded lightly, median
  /// Elements of the gradients that became ready, over those of the parameters.
  std::optional<double> param_bytes;
  std::optional<std::int64_t> dropped;   ///< records that the recorder lost
  std::optional<std::int64_t> unlinked;  ///< kernels whose launch is not known
  std::string bound;                     ///< "gpu", "host", or "" when not known

  bool operator==(const RecordingChecks&) const = default;
};

/// Raw percentiles of one layer.
struct LayerRecording {
  Percentiles forward;
  Percentiles backward;

  bool operator==(const LayerRecording&) const = default;
};

/// What a recording says beyond the medians that a replay needs.
struct RecordedExtras {
  std::optional<Percentiles> uninstrumented;  ///< iterations that nobody recorded
  std::optional<Percentiles> period;          ///< from an iteration's first kernel to the next's
  std::optional<Percentiles> gpu_busy;
  std::optional<IterationFactor> factor;
  std::vector<LayerRecording> layers;  ///< as the profile's layers, or empty
  RecordingChecks checks;

  bool operator==(const RecordedExtras&) const = default;
};

/// A profile with what its recording says beside it.
struct RecordedProfile {
  ComputeProfile profile;
  RecordedExtras recording;
};

}  // namespace gradwire
