#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/capture/common/nvml.hpp"

namespace gradwire::calibration {

/// What stands in the way of a recording or a benchmark, and what to do about it, in one line.
struct Finding {
  bool fatal = false;  ///< nothing can be measured: exit code 4. Otherwise a warning
  std::string text;
};

/// What the preflight asks, and where it looks. The defaults are this machine.
struct PreflightOptions {
  int cuda_version = 0;  ///< that our programs are built with, 1000 * major + 10 * minor; 0: any
  bool own_injection = true;  ///< we are about to load into a program: nobody else may
  std::function<const char*(const char*)> environment;  ///< getenv where empty
  std::string nvml_library;                             ///< see Nvml::open
  std::string driver_parameters = "/proc/driver/nvidia/params";
};

struct Preflight {
  std::vector<Finding> findings;  ///< fatal ones first
  std::string driver;             ///< its version; empty: none
  std::vector<NvmlGpu> gpus;
  [[nodiscard]] bool ready() const { return findings.empty() || !findings.front().fatal; }
};

/// Looks for what spoils a measurement: no driver, one that is too old, no visible GPU, another
/// profiler, profiling kept to root, MIG, clocks held down, no persistence mode.
[[nodiscard]] Preflight check_node(const PreflightOptions& options);

}  // namespace gradwire::calibration
