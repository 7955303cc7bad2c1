#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/error.hpp"
#include "sim/core/units.hpp"

namespace gradwire::config {

/// A training job that was measured on a calibrated node, and that a prediction should give again.
struct CalibratedJob {
  std::string profile;  ///< file, as written
  int gpus = 1;
  Seconds iteration;   ///< measured median
  int iterations = 1;  ///< that were timed
  SourceLocation where;
};

/// What `gradwire calibrate fit` leaves for `validate --calibrated` (schema gradwire.calibrated/1,
/// jobs.yaml). Files are as written, beside it; "" where there is none.
struct CalibratedJobs {
  std::string node;
  std::string collectives;
  std::vector<std::string> compressor_costs;
  std::vector<CalibratedJob> jobs;
};

/// @throws ConfigError  it is none; file:line:column. The files that it names are not looked at.
[[nodiscard]] CalibratedJobs read_calibrated_jobs(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section calibrated_section();

}  // namespace gradwire::config
