#include "sim/config/profile/other_batch.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/models/derived_profile.hpp"

namespace gradwire::config {
namespace {

/// As the recorder notes it, and the file's name tells.
bool is_channels_last(const ComputeProfile& profile) {
  return profile.source.notes.find("memory_format channels_last") != std::string::npos;
}

/// A profile of the same job with another batch, the nearest that ships; nullopt when there is
/// none.
std::optional<ComputeProfile> other_batch(const ComputeProfile& profile, int batch) {
  const std::string prefix = fmt::format("{}/{}_{}{}_b", profile.model, profile.gpu, profile.dtype,
                                         is_channels_last(profile) ? "_channels_last" : "");
  std::optional<ComputeProfile> nearest;
  for (const std::string& name : data_names(DataKind::profile)) {
    if (!name.starts_with(prefix)) continue;
    ComputeProfile other = read_once<read_profile>(data_file(DataKind::profile, name).string());
    const bool comparable = other.batch_per_gpu != profile.batch_per_gpu &&
                            other.layers.size() == profile.layers.size();
    const bool nearer = !nearest || std::abs(other.batch_per_gpu - batch) <
                                        std::abs(nearest->batch_per_gpu - batch);
    if (comparable && nearer) nearest = std::move(other);
  }
  return nearest;
}

}  // namespace

ComputeProfile with_batch(ComputeProfile profile, const GpuSpec& gpu, int batch) {
  if (batch == profile.batch_per_gpu) return profile;
  if (const auto other = other_batch(profile, batch)) {
    return interpolated_for_batch(profile, *other, gpu, batch);
  }
  return derived_for_batch(std::move(profile), gpu, batch);
}

}  // namespace gradwire::config
