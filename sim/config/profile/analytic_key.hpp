#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/result.hpp"
#include "sim/models/analytic_profile.hpp"

namespace gradwire::config {

/// The keys of `profile` that say whose times they are.
[[nodiscard]] std::vector<KeyInfo> profile_keys();

/// What an analytic profile is counted from.
struct AnalyticJob {
  ModelDescription model;
  GpuSpec gpu;
  int batch = 0;
  std::string dtype;
  AnalyticOptions options;
};

/// Reads what analytic_profile() takes: model, gpu, batch_per_gpu, dtype (fp32, tf32, fp16, bf16);
/// the model's own options (see read_model); and optimizer, fusion (none, bn_relu, inductor),
/// memory_format (contiguous, channels_last). The caller calls finish().
/// @throws ConfigError at the place in the file.
[[nodiscard]] AnalyticJob read_analytic_job(YamlMap& map);

/// Reads `profile: {model: ...}`: the recorded profile that ships for exactly this model, GPU,
/// batch and type when nothing else about the model is said, else an analytic one. The caller reads
/// what goes with every profile, and calls finish().
/// @param warnings  gets one that says when the profile is analytic, and one where fp32 is asked of
///                  a GPU on which frameworks take TF32.
/// @throws ConfigError at the place in the file.
[[nodiscard]] ComputeProfile read_model_profile(YamlMap& map, std::vector<Warning>& warnings);

/// Reads `profile: {file: ...}`: that profile, derived for the mapping's gpu, batch_per_gpu and
/// dtype where they are others than the file's. Another batch lies on the line through two shipped
/// recordings where there is a second one.
/// @param warnings  gets one that says what was derived.
/// @throws ConfigError at the place in the file.
[[nodiscard]] ComputeProfile read_file_profile(YamlMap& map, std::vector<Warning>& warnings);

}  // namespace gradwire::config
