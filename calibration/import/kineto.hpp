#pragma once

#include <string>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// Reads a trace of PyTorch's profiler (Kineto), plain or gzip: the schema of PyTorch 1.8.1
/// ("Operator", "Kernel") and the later one ("cpu_op", "kernel"). Device work, calls of CUDA,
/// operators, annotations and nn.Module ranges are kept; flows, counters, Python frames and memory
/// events are passed over. `missing` names what attribution would need and the file lacks.
/// @throws ConfigError at the place in the file: no JSON, no list `traceEvents`, an event without
///         time or with a negative duration.
[[nodiscard]] Trace read_kineto(const std::string& file);

/// The same of a text. @param file  the name that errors give.
[[nodiscard]] Trace parse_kineto(std::string text, const std::string& file);

}  // namespace gradwire::calibration
