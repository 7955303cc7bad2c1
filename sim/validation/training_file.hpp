#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/yaml/overlay.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::validation {

/// A measured training job, with what its scenario has beside the series' own.
struct TrainingRow {
  std::string id{};
  std::string model{};   ///< one of the file's `models`
  std::string method{};  ///< one of the file's `methods`
  int nodes = 1;
  int gpus_per_node = 1;
  std::string role{};      ///< "calibrate", "score" or "show"
  double measured = 0;     ///< in the file's unit
  double spread = 0;       ///< standard deviation of repeated runs, relative; 0 where unknown
  double single_gpu = 0;   ///< samples/s of one GPU; 0 where the profile says it itself
  std::string gate{};      ///< one of the file's `gates`, "" where it has none
  std::string missing{};   ///< the mechanism that is thought to be missing where the row misses
  std::string compared{};  ///< what else was measured on the same machines has the same
  /// In this order: of the model, the group, the method, the row.
  std::vector<config::Override> changes{};

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
};

/// A constant that is fitted to the rows with role calibrate, of its group or of the whole file.
struct FittedConstant {
  /// "compute": the iteration's time, as a factor on the profile's own.
  static constexpr const char* compute = "compute";
  std::string key;  ///< a dotted key of the scenario, or `compute`
  SourceLocation where;
  std::string model;                 ///< counts for its rows only; "" for all
  std::string method;                ///< fitted to its rows only; "" for all that it counts for
  std::vector<std::string> methods;  ///< counts for their rows only; empty for all
  double low = 0;                    ///< ends of the search
  double high = 0;
  std::string unit;  ///< of both, as scenarios write it: " us", "" for `compute`
};

/// Rows whose own constants are fitted together, and whose alternatives are ranked.
struct TrainingGroup {
  std::string name;
  std::vector<FittedConstant> fitted;
  std::vector<TrainingRow> rows;
};

/// What is claimed of the scored rows that name it. Limits of |error|.
struct TrainingGate {
  std::string name;
  double median = 0;
  double p90 = 0;    ///< 0 for none
  double worst = 0;  ///< 0 for none

  /// From where on a row of the gate counts as a miss of its own.
  [[nodiscard]] double row_limit() const {
    if (p90 > 0) return p90;
    return worst > 0 ? worst : 2 * median;
  }
};

/// results/reference/NAME.yaml, gradwire.reference.training/1.
struct TrainingFile {
  std::string name;
  /// Of measured values: a rate of all GPUs or of each, "x" (times one GPU alone), or "ms" (the
  /// median iteration).
  std::string unit;
  std::vector<std::pair<std::string, std::string>> source;  ///< as written, key and text
  config::YamlValue scenario;          ///< what all rows start from: gradwire.scenario/1
  std::vector<TrainingGate> gates;     ///< empty for rows that nothing is claimed of
  std::vector<FittedConstant> fitted;  ///< what all groups share
  std::vector<TrainingGroup> groups;
  std::vector<std::pair<std::string, std::string>> skipped;  ///< id and why there is no row of it
};

/// What PyTorch's allocator has reserved on the fullest GPU: tensors and its slack, no context.
inline constexpr std::string_view memory_unit = "GiB";
/// The same without what it has reserved beyond its tensors.
inline constexpr std::string_view tensors_unit = "GiB of tensors";
[[nodiscard]] constexpr bool is_memory(std::string_view unit) {
  return unit == memory_unit || unit == tensors_unit;
}

/// `schema` of the files that read_training_file() reads.
inline constexpr std::string_view training_schema = "gradwire.reference.training/1";

/// Known values of TrainingFile::unit.
[[nodiscard]] const std::vector<std::string>& training_units();

/// Reads and checks a file; a row's scenario is read when it is predicted.
/// The rate of one GPU of a row is, in this order: its own, its group's for its model, that of the
/// 1x1 row of the same model, method and batch in its group, the file's for its model.
/// @throws ConfigError at the place in the file.
[[nodiscard]] TrainingFile read_training_file(const config::YamlValue& document);

}  // namespace gradwire::validation
