#include "sim/config/profile_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/data_files.hpp"
#include "sim/config/gpu_yaml.hpp"
#include "sim/config/profile_yaml.hpp"

namespace gradwire::config {
namespace {

/// The shipped profile of a model on a GPU: profiles/MODEL/GPU_DTYPE_bBATCH.yaml.
std::string find_recorded(YamlMap& map) {
  const auto model = map.require<std::string>("model");
  const auto gpu = map.require<std::string>("gpu");
  const int batch = map.require<int>("batch_per_gpu", at_least(1));
  const auto dtype = map.require<std::string>("dtype");
  const std::string name = fmt::format("{}/{}_{}_b{}", model, gpu, dtype, batch);
  const auto known = data_names(DataKind::profile);
  if (std::ranges::find(known, name) == known.end()) {
    throw ConfigError(
        map.where(), fmt::format("no recorded profile '{}', and analytic ones are not supported by "
                                 "this version yet; expected one that 'gradwire list profiles' "
                                 "shows{}",
                                 name, suggestion(name, known)));
  }
  return data_file(DataKind::profile, name).string();
}

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

}  // namespace

void read_profile_key(YamlMap& scenario, Scenario& result) {
  const YamlValue& value =
      scenario.require_value("profile", "a name that 'gradwire list profiles' shows");
  if (value.kind != YamlValue::Kind::map) {
    result.profile = read_profile(load_yaml(find_data(DataKind::profile, value, "profile")));
  } else {
    YamlMap map(value, "profile");
    for (const char* later : {"sequence_length", "image_size", "optimizer", "fusion"}) {
      map.refuse(later);
    }
    const YamlValue* file = map.find("file");
    result.profile = read_profile(load_yaml(
        file != nullptr ? find_data(DataKind::profile, *file, "file") : find_recorded(map)));
    if (const auto time = map.optional<Seconds>("iteration_time", above(Seconds{0}))) {
      result.profile = scaled_to(std::move(*result.profile), *time);
    }
    override_overlap(map, *result.profile);
    map.finish();
  }
  const auto gpus = data_names(DataKind::gpu);
  if (std::ranges::find(gpus, result.profile->gpu) == gpus.end()) {
    throw ConfigError(value.where,
                      fmt::format("the profile's GPU '{}' is not described; expected "
                                  "one that 'gradwire list gpus' shows{}",
                                  result.profile->gpu, suggestion(result.profile->gpu, gpus)));
  }
  result.gpu = read_gpu(load_yaml(data_file(DataKind::gpu, result.profile->gpu).string()));
  if (auto gpu = scenario.optional_map("gpu")) override_gpu(*gpu, result.gpu);
}

}  // namespace gradwire::config
