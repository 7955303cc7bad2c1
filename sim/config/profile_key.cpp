#include "sim/config/profile_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/analytic_key.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/gpu_yaml.hpp"
#include "sim/config/profile_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr int micro_batches_max = 100'000;

/// `overlap: 1.2` for device work of every kind, or {conv3: 1.1, ...} for some.
void override_overlap(YamlMap& map, ComputeProfile& profile) {
  const YamlValue* value = map.find("overlap");
  if (value == nullptr) return;
  std::vector<std::string> kinds = layer_kinds();
  for (const char* work : {"copy", "encode", "optimizer"}) kinds.emplace_back(work);
  if (value->kind != YamlValue::Kind::map) {
    const auto factor = map.require<double>("overlap", at_least(1.0));
    for (const auto& kind : kinds) profile.overlap[kind] = factor;
    return;
  }
  YamlMap factors(*value, "overlap");
  for (const auto& kind : kinds) {
    if (const auto factor = factors.optional<double>(kind, at_least(1.0))) {
      profile.overlap[kind] = *factor;
    }
  }
  factors.finish();
}

void override_gpu(YamlMap map, GpuSpec& gpu) {
  gpu.kernel_overhead = map.value_or("kernel_overhead", gpu.kernel_overhead, at_least(Seconds{0}));
  gpu.memory_bandwidth =
      map.value_or("memory_bandwidth", gpu.memory_bandwidth, above(BytesPerSecond{0}));
  if (const auto share = map.optional<Ratio>("memory_efficiency", between(Ratio{0.01}, Ratio{1}))) {
    gpu.memory_efficiency = share->value;
  }
  map.finish();
}

/// A published time corrects the sum that was counted; what stays is the error of its parts.
ComputeProfile scaled_profile(ComputeProfile profile, Seconds iteration) {
  profile = scaled_to(std::move(profile), iteration);
  if (profile.source.kind == "analytic") {
    profile.source.kind = "analytic-scaled";
    profile.model_error = 0;
  }
  return profile;
}

/// Of an iteration of one micro-batch, where the known one accumulates several before the
/// optimizer.
Seconds of_one_micro_batch(const ComputeProfile& profile, Seconds known, int micro_batches) {
  const double optimizer = profile.optimizer / profile.iteration;
  return Seconds{known.count() / (micro_batches * (1 - optimizer) + optimizer)};
}

/// Units are mistaken by more than a framework's share.
void warn_of_time(const ComputeProfile& profile, Seconds told, std::vector<Warning>& warnings) {
  constexpr double usual = 5;
  const double ratio = told / profile.iteration;
  if (ratio >= 1 / usual && ratio <= usual) return;
  warnings.push_back(
      {"iteration-time",
       fmt::format("'iteration_time' is {:.3g} times the {:.3g} ms that {} with a batch of {} is "
                   "known or counted to take on {}: is its unit right?",
                   ratio, 1e3 * profile.iteration.count(), profile.model, profile.batch_per_gpu,
                   profile.gpu)});
}

}  // namespace

void read_profile_key(YamlMap& scenario, Scenario& result) {
  const YamlValue& value =
      scenario.require_value("profile", "a name that 'gradwire list profiles' shows");
  if (value.kind != YamlValue::Kind::map) {
    result.profile = read_profile(load_yaml(find_data(DataKind::profile, value, "profile")));
    if (result.profile->is_shape()) {
      throw ConfigError(value.where,
                        fmt::format("'{0}' gives only ratios of times; expected {{file: {0}, gpu: "
                                    "..., batch_per_gpu: ..., dtype: ..., iteration_time: ...}}",
                                    value.text));
    }
  } else {
    YamlMap map(value, "profile");
    result.profile = map.has("file") ? read_file_profile(map, result.warnings)
                                     : read_model_profile(map, result.warnings);
    if (const auto time = map.optional<Seconds>("iteration_time", above(Seconds{0}))) {
      const int micro_batches =
          map.value_or("iteration_micro_batches", 1, between(1, micro_batches_max));
      const Seconds one = of_one_micro_batch(*result.profile, *time, micro_batches);
      if (!result.profile->is_shape()) warn_of_time(*result.profile, one, result.warnings);
      result.profile = scaled_profile(std::move(*result.profile), one);
    } else if (map.has("iteration_micro_batches")) {
      map.fail("iteration_micro_batches",
               "'iteration_micro_batches' alone; expected 'iteration_time' beside it");
    }
    override_overlap(map, *result.profile);
    map.finish();
  }
  if (result.profile->tensor_count() == 0) {
    result.warnings.push_back(
        {"no-tensors", fmt::format("the profile of {} has no parameters: nothing is exchanged",
                                   result.profile->model)});
  }
  result.gpu = shipped_gpu(result.profile->gpu, value.where);
  if (auto gpu = scenario.optional_map("gpu")) override_gpu(*gpu, result.gpu);
}

}  // namespace gradwire::config
