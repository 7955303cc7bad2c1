#pragma once

#include "sim/config/scenario.hpp"
#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {

/// The keys of `profile`.
[[nodiscard]] Section profile_section();

/// Reads `profile:` of a scenario into `profile` and `gpu`: a shipped name or a path; {file, ...},
/// derived where gpu, batch_per_gpu or dtype are others than the file's; or {model, gpu,
/// batch_per_gpu, dtype, ...}, recorded where such a profile ships, else analytic (see
/// analytic_key.hpp). `iteration_time` and `overlap` go with each mapping: every time multiplied so
/// that the iteration takes that long (`iteration_micro_batches` of them with one step of the
/// optimizer, default 1), and slowdowns under communication, in place of what its kernels take of
/// the GPU. `gpu:` beside it overrides what was measured on another machine than the job's:
/// kernel_overhead, memory_bandwidth, memory_efficiency.
void read_profile_key(YamlMap& scenario, Scenario& result);

}  // namespace gradwire::config
