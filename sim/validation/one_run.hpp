#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/validation/report.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"

namespace gradwire::validation {

/// Groups of transfer_rows that predictions from one run stand beside.
inline constexpr const char* names_alone = "names alone";
inline constexpr const char* smallest_run = "smallest run";

/// Whether the time of one GPU without communication was measured beside the row.
[[nodiscard]] bool knows_one_gpu(const TrainingRow& row);
/// The row without it.
[[nodiscard]] TrainingRow by_names_alone(TrainingRow row);

/// A measured job, and where its scenario says that it ran: what another may share with it.
struct MeasuredRun {
  const TrainingFile* file = nullptr;
  const TrainingGroup* group = nullptr;
  const TrainingRow* row = nullptr;
  std::string gpu{};
  std::string machines{};  ///< node and GPU
  std::string network{};   ///< the fabric as written
  std::string stack{};     ///< framework and number type
  std::string strategy{};  ///< its name or preset
  std::string model{};     ///< the profile's
  std::string job{};       ///< profile, strategy and library as written
};

/// All rows of the files that are calibration or scored ones, in their order.
[[nodiscard]] std::vector<MeasuredRun> measured_runs(std::span<const TrainingFile> files);

/// The run of the row's group on the fewest GPUs that differs from it in nothing but its size, at
/// least by one GPU; nullptr: there is none.
[[nodiscard]] const TrainingRow* smallest_run_of(const TrainingGroup& group,
                                                 const TrainingRow& row);

/// What the row would measure if it took the iteration's time of `run`.
[[nodiscard]] double in_time_of(const TrainingFile& file, const TrainingRow& run,
                                const TrainingRow& row);

/// What who has measured one run predicts of the scored rows of a group: the time of compute, one
/// factor on the profile's, is set so that this run is met, and nothing else is fitted. Each as a
/// Row::group of its own, as transfer_rows has them; a row fails where no factor meets its run.
/// - "more GPUs": the run is smallest_run_of the row;
/// - "other models": the smallest run of the first job of the file on the row's machines and
///   network, of its stack, where that is of another model;
/// - "other network": the smallest run over the first network of the file that the same job was
///   measured over, on the same machines, where that is another; "time over the other network"
///   is what the row would measure in its time;
/// - "other series": the run on the fewest GPUs of another file on the row's machines, of its
///   stack; where there is none, on its GPU under its strategy, of its stack. Runs of the row's
///   model go before others.
[[nodiscard]] std::vector<Row> one_run_rows(const TrainingFile& file, const TrainingGroup& group,
                                            std::span<const MeasuredRun> runs,
                                            const Predict& predict);

/// The section of transfer.md: a line a series, each of the four beside what needs no simulator or
/// no measured run on the same rows.
[[nodiscard]] std::string one_run_section(std::span<const SeriesReport> reports);

}  // namespace gradwire::validation
