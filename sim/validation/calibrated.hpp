#pragma once

#include <memory>
#include <string>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// What a calibrated node was measured at, against what its own profiles and fits predict: the
/// folder that `gradwire calibrate fit DIR -o FOLDER` wrote. Its jobs.yaml (schema
/// gradwire.calibrated/1) names the jobs: one GPU without communication, or DDP on the recorded
/// GPUs of the node. Of each collective and each compressor, every second size is predicted from
/// the others; rows from 1 MiB on are scored.
/// @throws ConfigError at the place in a file.
[[nodiscard]] std::unique_ptr<Series> open_calibrated(const std::string& folder,
                                                      const Predict& predict);

}  // namespace gradwire::validation
