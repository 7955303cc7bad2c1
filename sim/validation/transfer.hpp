#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/validation/one_run.hpp"
#include "sim/validation/report.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"

namespace gradwire::validation {

/// The scored rows of a group under all that could be known of them, each as a Row::group of its
/// own (labels are ids, no gates):
/// - "names alone": nothing measured is used, neither a rate of one GPU nor a fitted constant;
/// - "one GPU": with the rate of one GPU, where it is given;
/// - "fitted": with the constants that are fitted to the rows with role calibrate as well;
/// and what predicts without a simulator:
/// - "linear scaling": the rate of one GPU times their number, where it is given;
/// - "smallest run": every size takes the time of the smallest measured run of the model and the
///   method, batch and network alike, in the group. Of that run itself there is no such row;
/// - "same MFU": each language model takes of its GPUs' peak what the first of the scored ones on
///   the fewest GPUs did, in the group. Of that one there is no such row.
/// Then what one measured run of all `runs` tells of them: one_run_rows.
[[nodiscard]] std::vector<Row> transfer_rows(const TrainingFile& file, const TrainingGroup& group,
                                             std::span<const MeasuredRun> runs,
                                             const Predict& predict);

/// results/reference/transfer.md: a line a series, medians and 90th percentiles of the |error| by
/// what was known, the null models' medians, and the skill over the best of them: 1 - the median
/// of "fitted" over that null model's, on the rows that it has; then one_run_section.
[[nodiscard]] std::string transfer_page(std::span<const SeriesReport> reports);

}  // namespace gradwire::validation
