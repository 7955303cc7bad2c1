#pragma once

#include <string>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/summary.hpp"
#include "sim/core/compute_profile.hpp"

namespace gradwire::calibration {

/// Which recorded layer each layer of a model is.
struct LayerJoin {
  std::vector<int> recorded;  ///< by the model's layer; -1: nothing was recorded for it
  std::vector<std::string> disagreements;  ///< where recording and model differ, in words
  Seconds left_over;  ///< time of recorded layers that no layer of the model is
};

/// Joins by order and kind: of all ways to lay the two sequences side by side, the one with most
/// layers of equal kind (and equal numbers of parameters, where the recording tells them). Recorded
/// layers without device time (views) and layers of the model that do no work may stand alone
/// without a word.
/// @throws ConfigError at the trace when the sequences are too long to be compared (together above
///         50 million pairs).
[[nodiscard]] LayerJoin join_layers(const Attribution& attribution, const StepSummary& summary,
                                    const ComputeProfile& model, const std::string& file);

}  // namespace gradwire::calibration
