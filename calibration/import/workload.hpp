#pragma once

#include <string>
#include <vector>

#include "calibration/fit/profile_fit.hpp"
#include "sim/core/units.hpp"

namespace gradwire::calibration {

/// Reads what ran beside a recording: workload.json (schema gradwire.workload/1), which the
/// launcher or the workload itself writes: model, gpu, dtype, parameters (name, shape) in
/// registration order; optional batch_per_gpu, optimizer, framework with its version, buffers.
/// Whatever else the file says (texts, numbers, yes or no) becomes a fact.
/// @throws ConfigError at the place in the file.
[[nodiscard]] Workload read_workload(const std::string& file);
[[nodiscard]] Workload parse_workload(const std::string& text, const std::string& file);

/// Reads the times of iterations that nobody recorded: uninstrumented.json (schema
/// gradwire.iterations/1), a list iteration_ns of nanoseconds above 0.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::vector<Seconds> read_iteration_times(const std::string& file);
[[nodiscard]] std::vector<Seconds> parse_iteration_times(const std::string& text,
                                                         const std::string& file);

}  // namespace gradwire::calibration
