#pragma once

#include <span>
#include <vector>

#include "calibration/fit/collective_fit.hpp"

namespace gradwire {

/// A measured row beside the time that a fit made without it gives.
struct HeldOutRow {
  FitSample sample;
  Seconds predicted;
};

/// Relative errors |predicted / measured - 1|.
struct ErrorSummary {
  int rows = 0;
  double mean = 0;
  double p90 = 0;
  double worst = 0;
};

/// Of the rows from `from` on; all 0 when there is none.
[[nodiscard]] ErrorSummary summarise(std::span<const HeldOutRow> rows, Bytes from = Bytes{0});

/// Predicts `scored` by the fits of `fitted`; rows of an operation or class of hops that was not
/// fitted are left out.
[[nodiscard]] std::vector<HeldOutRow> predict(std::span<const FitSample> fitted,
                                              std::span<const FitSample> scored,
                                              const FitOptions& options = {});

/// Each row of `samples` predicted by a fit to those of other folds, the rows dealt by size: within
/// one operation, rank count and machine count the i-th size is in fold i mod `folds`. The smallest
/// and the largest size of each are always fitted, never scored: a fit does not promise what lies
/// outside. REQUIRES: folds >= 2.
[[nodiscard]] std::vector<HeldOutRow> fold_over_sizes(std::span<const FitSample> samples, int folds,
                                                      const FitOptions& options = {});

/// Each rank count predicted by a fit to the others. None when there is only one.
[[nodiscard]] std::vector<HeldOutRow> fold_over_ranks(std::span<const FitSample> samples,
                                                      const FitOptions& options = {});

/// Every second size fitted, from the smallest on, the others predicted; each series by itself, as
/// lines a + b * size: with one rank count nothing tells latency from launch, so no more than that
/// is fitted, and as many lines as the criterion wants.
[[nodiscard]] std::vector<HeldOutRow> every_second_size(std::span<const MeasuredSeries> series);

}  // namespace gradwire
