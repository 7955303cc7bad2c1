#pragma once

#include <chrono>
#include <string>

#include "calibration/trace/trace.hpp"
#include "sim/core/budgets.hpp"

namespace gradwire::calibration {

/// Reads a recording of Nsight Systems that was exported to SQLite (`nsys export --type sqlite`):
/// kernels, copies, memsets, calls of CUDA's runtime, NVTX ranges and marks. Names of PyTorch's
/// emit_nvtx are split into operator, sequence number and shapes.
///
/// Tables and columns as NVIDIA documents them (Nsight Systems documentation, "SQLite Export Schema
/// Reference", 2021.5): CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET, _RUNTIME, NVTX_EVENTS and
/// StringIds; tables that a recording does not need are absent from the file, and are reported in
/// `missing`. Threads and processes are one number (globalTid).
/// @param query_time  the most that one query may take; tests give a shorter one
/// @throws ConfigError when the file is no such database, names the table and column that it lacks.
[[nodiscard]] Trace read_nsys(
    const std::string& file,
    std::chrono::milliseconds query_time = std::chrono::seconds(sqlite_seconds.most));

}  // namespace gradwire::calibration
