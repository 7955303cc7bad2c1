#pragma once

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/host_cpu.hpp"
#include "sim/core/host_step.hpp"

namespace gradwire::config {

/// Constants of all machines: those of profiles/libraries' cpu.yaml, offload.yaml, kernels.yaml,
/// memory.yaml, profile_errors.yaml, doubts.yaml.
[[nodiscard]] const HostCpu& shipped_cpu();
[[nodiscard]] const HostOffloadRates& shipped_offload();
[[nodiscard]] const KernelConstants& shipped_kernels();
[[nodiscard]] const MemoryConstants& shipped_memory();
[[nodiscard]] const ProfileErrors& shipped_profile_errors();
[[nodiscard]] const DoubtWidths& shipped_doubts();

/// Read a file of one of the sets "cpu", "offload", "kernels", "memory", "profile_errors",
/// "doubts".
void read_cpu_constants(Constants& from, HostCpu& to);
void read_offload_constants(Constants& from, HostOffloadRates& to);
void read_kernel_constants(Constants& from, KernelConstants& to);
void read_memory_constants(Constants& from, MemoryConstants& to);
void read_profile_errors(Constants& from, ProfileErrors& to);
void read_doubts(Constants& from, DoubtWidths& to);

}  // namespace gradwire::config
