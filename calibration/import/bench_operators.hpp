#pragma once

#include <string>

namespace gradwire::calibration {

/// What a host's thread takes to launch, over the times of PyTorch's operators that models are
/// counted with (`host_time` of a profile).
struct HostSpeed {
  std::string gpu;
  int operators = 0;  ///< compared, each type and direction for itself
  double chain = 0;   ///< their times over those of the host that iterations were held against
  double host_time = 0;
};

/// Reads what calibration/capture/workloads/operators.py writes (schema gradwire.operator_times/1).
/// The geometric mean of the medians of chains of like operators over those of the host of an H200,
/// times what whole iterations ask for: 1.02 on that host, 1.05 on one whose chains take 1.28 times
/// as long, so that some 15 % remain (results/reference/host_operators.csv, host_iterations.csv).
/// @throws ConfigError at the place in the file.
[[nodiscard]] HostSpeed read_bench_operators(const std::string& text, const std::string& file);

}  // namespace gradwire::calibration
