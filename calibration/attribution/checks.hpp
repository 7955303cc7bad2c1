#pragma once

#include <string>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/summary.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::calibration {

/// Bounds of a recording's checks (docs/calibrate.md; decided before any recording).
struct CheckBounds {
  double closure_gpu_min = 0.97;
  double closure_gpu_max = 1.01;
  double closure_span_min = 0.90;  ///< below it the host bounds the iteration
  double other_max = 0.03;         ///< beyond it a trace's reader warns, a recording refused
  double other_refused = 0.10;     ///< of a trace that others recorded (assumed)
  double light_vs_full_max = 1.03;
  double full_vs_light_min = 0.98;
  double full_vs_light_max = 1.02;
  /// Of the busy time, in kernels whose launch is not known. The design says none; a share below
  /// this moves no layer by more than its jitter (assumed).
  double unlinked_max = 0.005;
};

/// Closure, the share of other work, what was lost, and which of GPU and host bounds the iteration.
[[nodiscard]] RecordingChecks checks_of(const Attribution& attribution, const StepSummary& summary);

/// Why a profile may not be made of what these checks say: each names the check, its figure and
/// what was expected. Empty: all hold. What bounds the iteration is not among them: see
/// host_bound().
[[nodiscard]] std::vector<std::string> failures(const RecordingChecks& checks,
                                                const StepSummary& summary,
                                                const CheckBounds& bounds = {});

/// What the reader of a profile should know of them, though they do not forbid it: the share of
/// other work where it lies between other_max and other_refused.
[[nodiscard]] std::vector<std::string> cautions(const RecordingChecks& checks,
                                                const CheckBounds& bounds = {});

/// Why the recorded time is not the GPU's iteration time, "" where it is.
[[nodiscard]] std::string host_bound(const StepSummary& summary, const CheckBounds& bounds = {});

}  // namespace gradwire::calibration
