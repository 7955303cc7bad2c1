#include "sim/config/analytic_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/gpu_yaml.hpp"
#include "sim/config/model_catalogue.hpp"
#include "sim/config/profile_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/derived_profile.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/frameworks.hpp"
#include "sim/models/optimizers.hpp"

namespace gradwire::config {
namespace {

constexpr int batch_most = 1'000'000;

/// Keys that say more about the job than a recording's name does.
constexpr auto model_keys = std::to_array<const char*>({"image_size", "sequence_length",
                                                        "vocabulary", "classes",
                                                        "head",       "tied",
                                                        "layers",     "hidden",
                                                        "heads",      "kv_heads",
                                                        "head_size",  "ffn",
                                                        "activation", "norm",
                                                        "attention",  "rope",
                                                        "experts",    "optimizer",
                                                        "fusion",     "memory_format",
                                                        "framework",  "optimizer_step",
                                                        "recompute"});

const std::vector<std::string>& dtypes() {
  static const std::vector<std::string> known = {"fp32", "tf32", "fp16", "bf16"};
  return known;
}

GpuSpec read_gpu_key(YamlMap& map) {
  const YamlValue& value =
      map.require_value("gpu", "a name that 'gradwire list gpus' shows, or a GPU file");
  return read_gpu(load_yaml(find_data(DataKind::gpu, value, "gpu")));
}

/// `dtype`, which the GPU must have itself: tf32 on a GPU without it would be fp32.
std::string read_dtype(YamlMap& map, const GpuSpec& gpu) {
  std::vector<std::string> known;
  std::ranges::copy_if(dtypes(), std::back_inserter(known),
                       [&](const std::string& dtype) { return gpu.peak_flops.contains(dtype); });
  auto dtype = map.require_choice("dtype", dtypes());
  if (std::ranges::find(known, dtype) == known.end()) {
    map.fail("dtype", fmt::format("'dtype' is '{}', which {} does not have; expected one of {}",
                                  dtype, gpu.name, fmt::join(known, ", ")));
  }
  return dtype;
}

/// `framework`, and how PyTorch's optimizer runs.
void read_framework(YamlMap& map, AnalyticOptions& options) {
  static const std::vector<std::string> steps = {"loop", "foreach", "fused"};
  std::vector<std::string> names;
  for (const Framework& framework : frameworks()) names.emplace_back(framework.name);
  options.framework = map.choice_or("framework", options.framework, names);
  if (!map.has("optimizer_step")) return;
  const auto step = map.require_choice("optimizer_step", steps);
  if (!has_optimizer_steps(*find_framework(options.framework))) {
    map.fail("optimizer_step",
             fmt::format("'optimizer_step' beside framework '{}'; expected pytorch-eager or "
                         "pytorch-compile, whose optimizers it is of",
                         options.framework));
  }
  options.optimizer_step = step == "loop"    ? StepForm::loop
                           : step == "fused" ? StepForm::fused
                                             : StepForm::foreach;
}

Recompute read_recompute(YamlMap& map, const ModelDescription& model) {
  static const std::vector<std::string> kinds = {"none", "selective", "full"};
  const auto kind = map.choice_or("recompute", kinds.front(), kinds);
  if (kind == "none") return Recompute::none;
  if (!has_blocks(model)) {
    map.fail("recompute", fmt::format("'recompute' is {}, but {} has no numbered blocks that could "
                                      "be made again; expected none",
                                      kind, model.name));
  }
  return kind == "full" ? Recompute::full : Recompute::selective;
}

AnalyticOptions read_options(YamlMap& map) {
  static const std::vector<std::string> fusions = {"none", "bn_relu", "inductor"};
  static const std::vector<std::string> formats = {"contiguous", "channels_last"};
  AnalyticOptions options;
  if (map.has("optimizer")) {
    std::vector<std::string> names;
    for (const OptimizerKind& kind : optimizers()) names.emplace_back(kind.name);
    options.optimizer = map.require_choice("optimizer", names);
  }
  if (map.has("fusion")) {
    const auto fusion = map.require_choice("fusion", fusions);
    options.fusion = fusion == "inductor"  ? Fusion::inductor
                     : fusion == "bn_relu" ? Fusion::bn_relu
                                           : Fusion::none;
  }
  options.channels_last = map.choice_or("memory_format", formats.front(), formats) == formats[1];
  read_framework(map, options);
  return options;
}

/// A profile of the same job with another batch, the nearest that ships; nullopt when there is
/// none.
std::optional<ComputeProfile> other_batch(const ComputeProfile& profile, int batch) {
  const std::string prefix = fmt::format("{}/{}_{}_b", profile.model, profile.gpu, profile.dtype);
  std::optional<ComputeProfile> nearest;
  for (const std::string& name : data_names(DataKind::profile)) {
    if (!name.starts_with(prefix)) continue;
    ComputeProfile other = read_profile(load_yaml(data_file(DataKind::profile, name).string()));
    const bool comparable = other.batch_per_gpu != profile.batch_per_gpu &&
                            other.layers.size() == profile.layers.size();
    const bool nearer = !nearest || std::abs(other.batch_per_gpu - batch) <
                                        std::abs(nearest->batch_per_gpu - batch);
    if (comparable && nearer) nearest = std::move(other);
  }
  return nearest;
}

ComputeProfile with_batch(ComputeProfile profile, const GpuSpec& gpu, int batch) {
  if (batch == profile.batch_per_gpu) return profile;
  if (const auto other = other_batch(profile, batch)) {
    return interpolated_for_batch(profile, *other, batch);
  }
  return derived_for_batch(std::move(profile), gpu, batch);
}

/// Another GPU in the recording's type where it has it, then another type.
ComputeProfile with_gpu(ComputeProfile profile, const GpuSpec& from, const GpuSpec& to,
                        const std::string& dtype) {
  if (supports(to, profile.dtype)) {
    return derived_for_dtype(derived_for_gpu(std::move(profile), from, to), to, dtype);
  }
  return derived_for_gpu(derived_for_dtype(std::move(profile), from, dtype), from, to);
}

/// The shipped recording profiles/MODEL/GPU_DTYPE_bBATCH.yaml of what the mapping asks for; nullopt
/// where there is none, or the mapping says more than its name does.
std::optional<std::string> recorded_name(YamlMap& map) {
  for (const char* key : model_keys) {
    if (map.has(key)) return std::nullopt;
  }
  const auto text = [&](const char* key) {
    const YamlValue* found = map.find(key);
    return found != nullptr ? found->text : std::string();
  };
  std::string name =
      fmt::format("{}/{}_{}_b{}", text("model"), text("gpu"), text("dtype"), text("batch_per_gpu"));
  const auto known = data_names(DataKind::profile);
  if (std::ranges::find(known, name) == known.end()) return std::nullopt;
  return name;
}

/// What a shape does not state: GPU, batch, type, and (read by the caller) the iteration's time.
ComputeProfile read_shape(YamlMap& map, ComputeProfile profile) {
  const GpuSpec gpu = read_gpu_key(map);
  profile.gpu = gpu.name;
  profile.batch_per_gpu = map.require<int>("batch_per_gpu", between(1, batch_most));
  profile.dtype = read_dtype(map, gpu);
  map.require_value("iteration_time",
                    "what an iteration on one GPU takes: the file gives only ratios of times");
  return profile;
}

}  // namespace

AnalyticJob read_analytic_job(YamlMap& map) {
  const auto batch = map.require<int>("batch_per_gpu", between(1, batch_most));
  GpuSpec gpu = read_gpu_key(map);
  std::string dtype = read_dtype(map, gpu);
  if (!gpu.efficiency.contains(dtype)) {
    map.fail("dtype", fmt::format("GPU '{}' has no efficiencies for '{}'; expected a recorded "
                                  "profile, or a type of which its 'efficiencies' tell",
                                  gpu.name, dtype));
  }
  AnalyticOptions options = read_options(map);
  ModelDescription model = read_model(map);
  options.recompute = read_recompute(map, model);
  return {std::move(model), std::move(gpu), batch, std::move(dtype), options};
}

ComputeProfile read_analytic_profile(YamlMap& map) {
  const AnalyticJob job = read_analytic_job(map);
  return analytic_profile(job.model, job.gpu, job.batch, job.dtype, job.options);
}

ComputeProfile read_model_profile(YamlMap& map, std::vector<Warning>& warnings) {
  if (const auto name = recorded_name(map)) {
    return read_profile(load_yaml(data_file(DataKind::profile, *name).string()));
  }
  ComputeProfile profile = read_analytic_profile(map);
  const std::string times =
      map.has("iteration_time")
          ? "shares of 'iteration_time' that are counted from the model"
          : fmt::format(
                "counted from the model; of the rates that 'validate single_gpu' holds, 9 of "
                "10 are met within {:.0f} %",
                100 * analytic_error);
  warnings.push_back(
      {"analytic-profile",
       fmt::format("no recording of {} on {}, {}, batch {}, as asked for: its times are {}",
                   profile.model, profile.gpu, profile.dtype, profile.batch_per_gpu, times)});
  return profile;
}

ComputeProfile read_file_profile(YamlMap& map, std::vector<Warning>& warnings) {
  const YamlValue& file = map.require_value("file", "a name that 'gradwire list profiles' shows");
  ComputeProfile profile = read_profile(load_yaml(find_data(DataKind::profile, file, "file")));
  if (profile.is_shape()) return read_shape(map, std::move(profile));
  if (!map.has("gpu") && !map.has("batch_per_gpu") && !map.has("dtype")) return profile;
  const GpuSpec from = shipped_gpu(profile.gpu, file.where);
  const GpuSpec to = map.has("gpu") ? read_gpu_key(map) : from;
  const std::string dtype = map.has("dtype") ? read_dtype(map, to) : profile.dtype;
  if (!supports(from, profile.dtype) || !supports(to, dtype) ||
      !(supports(to, profile.dtype) || supports(from, dtype))) {
    map.fail(map.has("dtype") ? "dtype" : "gpu",
             fmt::format("a profile of {} on {} cannot be derived for {} on {}: expected a type "
                         "that both have a peak for",
                         profile.dtype, from.name, dtype, to.name));
  }
  const int batch = map.value_or("batch_per_gpu", profile.batch_per_gpu, at_least(1));
  profile = with_batch(std::move(profile), from, batch);
  profile = with_gpu(std::move(profile), from, to, dtype);
  if (profile.source.kind == "derived") {
    warnings.push_back({"derived-profile", profile.source.notes});
  }
  return profile;
}

}  // namespace gradwire::config
