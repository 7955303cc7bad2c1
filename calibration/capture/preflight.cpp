#include "calibration/capture/preflight.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

namespace gradwire::calibration {
namespace {

/// Clocks are held down against our wishes; idle and the user's own settings are not meant.
constexpr std::uint64_t slowed = nvml_throttle::software_power_cap |
                                 nvml_throttle::hardware_slowdown |
                                 nvml_throttle::software_thermal | nvml_throttle::hardware_thermal |
                                 nvml_throttle::hardware_power_brake;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string version_text(int cuda_version) {
  return std::to_string(cuda_version / 1000) + "." + std::to_string(cuda_version % 1000 / 10);
}

/// Gathers findings, fatal ones first.
class Findings {
 public:
  void fatal(std::string text) {
    const auto first_warning =
        std::ranges::find_if(all_, [](const Finding& finding) { return !finding.fatal; });
    all_.insert(first_warning, {true, std::move(text)});
  }
  void warn(std::string text) { all_.push_back({false, std::move(text)}); }
  std::vector<Finding> take() { return std::move(all_); }

 private:
  std::vector<Finding> all_;
};

void check_driver(const Nvml& nvml, int cuda_version, Findings& findings) {
  const int runs = nvml.cuda_version();
  if (cuda_version == 0 || runs == 0 || runs >= cuda_version) return;
  const std::string text = "driver " + nvml.driver_version() + " runs CUDA " + version_text(runs) +
                           ", and this program is built with CUDA " + version_text(cuda_version);
  // Within a major version a driver runs newer toolkits (CUDA's minor version compatibility).
  if (runs / 1000 == cuda_version / 1000) {
    findings.warn(text + "; update the driver where calls fail");
  } else {
    findings.fatal(text + "; expected a driver of CUDA " + std::to_string(cuda_version / 1000) +
                   ", or a build with the driver's toolkit");
  }
}

void check_gpu(const NvmlGpu& gpu, Findings& findings) {
  const std::string name = "GPU " + std::to_string(gpu.index);
  if (gpu.mig.value_or(false)) {
    findings.warn(name +
                  " is split by MIG: no profile is made of a slice; nvidia-smi -mig 0 makes it "
                  "whole");
  }
  const std::uint64_t reasons = gpu.throttle_reasons.value_or(0) & slowed;
  if (reasons != 0) {
    std::string clocks;
    if (gpu.sm_clock_mhz && gpu.sm_clock_max_mhz) {
      clocks = " at " + std::to_string(*gpu.sm_clock_mhz) + " of " +
               std::to_string(*gpu.sm_clock_max_mhz) + " MHz";
    }
    findings.warn(name + " is slowed" + clocks + " (" + joined(throttle_names(reasons)) +
                  "): times will be of a slower GPU; let it cool, or raise its power limit");
  }
  if (gpu.persistence && !*gpu.persistence) {
    findings.warn(name +
                  " is not in persistence mode: its clocks start anew with each program; "
                  "nvidia-smi -pm 1 keeps the driver loaded");
  }
}

void check_profilers(const PreflightOptions& options, Findings& findings) {
  struct Trace {
    const char* variable;
    const char* profiler;
  };
  static constexpr std::array<Trace, 3> traces{{{"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
                                                {"CUDA_INJECTION64_PATH", "another profiler"},
                                                {"NVTX_INJECTION64_PATH", "another profiler"}}};
  for (const Trace& trace : traces) {
    const char* value = options.environment(trace.variable);
    if (value == nullptr || *value == '\0') continue;
    findings.fatal(std::string(trace.profiler) + " is attached (" + trace.variable + "=" + value +
                   "): CUPTI serves one at a time; run without it");
  }
}

/// The driver's own switch (NVreg_RestrictProfilingToAdminUsers) as it shows it.
void check_permission(const std::string& parameters, Findings& findings) {
  std::ifstream file(parameters);
  std::string line;
  while (std::getline(file, line)) {
    if (line != "RmProfilingAdminOnly: 1" || geteuid() == 0) continue;
    findings.warn(
        "the driver keeps profiling to root (RmProfilingAdminOnly: 1): CUPTI may refuse; run as "
        "root or with CAP_SYS_ADMIN, or load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0");
  }
}

bool hides_all_gpus(const char* visible) {
  return visible != nullptr && (*visible == '\0' || std::strcmp(visible, "-1") == 0);
}

}  // namespace

Preflight check_node(const PreflightOptions& given) {
  PreflightOptions options = given;
  if (!options.environment) {
    options.environment = [](const char* name) { return std::getenv(name); };
  }
  Preflight preflight;
  Findings findings;
  std::string why;
  const std::optional<Nvml> nvml = Nvml::open(why, options.nvml_library);
  if (!nvml) {
    findings.fatal(why +
                   "; expected a machine with an NVIDIA GPU and its driver (docker: --gpus all)");
  } else {
    preflight.driver = nvml->driver_version();
    preflight.gpus = nvml->gpus();
    check_driver(*nvml, options.cuda_version, findings);
    if (preflight.gpus.empty()) {
      findings.fatal("the driver shows no GPU; expected one (docker: --gpus all; Slurm: --gres)");
    } else if (hides_all_gpus(options.environment("CUDA_VISIBLE_DEVICES"))) {
      findings.fatal("CUDA_VISIBLE_DEVICES hides every GPU; expected one of 0 to " +
                     std::to_string(preflight.gpus.size() - 1));
    }
    for (const NvmlGpu& gpu : preflight.gpus) check_gpu(gpu, findings);
    check_permission(options.driver_parameters, findings);
  }
  if (options.own_injection) check_profilers(options, findings);
  preflight.findings = findings.take();
  return preflight;
}

}  // namespace gradwire::calibration
