#pragma once

#include <span>
#include <string>

#include "calibration/fit/collective_fit.hpp"

namespace gradwire {

/// The errors of fits to these samples, as a table for people, one line an operation and class of
/// hops: calibration (the rows it was fitted to) apart from hold-out, `folds`-fold over sizes and
/// over rank counts; rows from `from` on are scored. REQUIRES: folds >= 2.
[[nodiscard]] std::string error_table(std::span<const FitSample> samples, int folds, Bytes from,
                                      const FitOptions& options = {});

/// The segments of fits beside what the cluster's links promise: latencies a hop, and the bus
/// bandwidth (as nccl-tests defines it) on the most ranks of the samples.
[[nodiscard]] std::string segment_table(std::span<const CollectiveFit> fits,
                                        std::span<const FitSample> samples);

}  // namespace gradwire
