#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/import/bench_copies.hpp"
#include "calibration/import/bench_operators.hpp"
#include "calibration/import/bench_overlap.hpp"
#include "calibration/import/compressors.hpp"
#include "sim/cli/calibrate_node.hpp"
#include "sim/cost/measured_table.hpp"
#include "topologies/importers/node_parts.hpp"

namespace gradwire::cli {

/// A recording that became a profile.
struct FittedRecording {
  std::string name;
  calibration::ProfileFit fit;
  int gpus = 1;                         ///< that the recorded program trained on
  std::optional<Percentiles> measured;  ///< its iterations, when nobody recorded
};

struct RefusedRecording {
  std::string name;
  std::string why;
};

/// Compressors as one implementation runs them: its file's name without the ending.
struct CompressorFile {
  std::string name;
  calibration::CompressorBench bench;
};

/// All that a calibrated node's folder says.
struct NodeFindings {
  std::optional<ImportedNode> node;
  std::vector<FittedRecording> recordings;
  std::vector<RefusedRecording> refused;
  std::optional<CollectiveTable> collectives;
  std::vector<FitSample> samples;  ///< of the collectives that the cluster can run
  std::optional<calibration::CopyBench> copies;
  std::optional<calibration::HostSpeed> host;
  std::optional<calibration::OverlapBench> overlap;
  int overlap_ctas = 0;  ///< that the profiles' slowdowns are taken at
  std::vector<CompressorFile> compressors;
  std::vector<std::string> notes;  ///< what the user should know

  [[nodiscard]] bool empty() const;
};

/// Reads the folder; what it has not is left out.
/// @throws ConfigError at the place in a file that is damaged.
[[nodiscard]] NodeFindings read_node_folder(const NodeFit& options);

/// The compute profile that is written (YAML), with the fit's notes in its source.
[[nodiscard]] std::string profile_text(const calibration::ProfileFit& fit);

struct Picture {
  std::string name;  ///< of its file
  std::string svg;
};

/// Of each recording when its gradients become ready, of each collective the bus bandwidth as
/// measured and as fitted.
[[nodiscard]] std::vector<Picture> node_pictures(const NodeFindings& findings);

/// The folder's findings as a page (Markdown): recordings with their checks and layers, collectives
/// with both errors, copies, overlap, compressors; it shows the pictures.
[[nodiscard]] std::string node_report(const NodeFindings& findings, int folds);

}  // namespace gradwire::cli
