#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::config {

/// Kinds that a layer may have; `overlap` is given by kind.
[[nodiscard]] const std::vector<std::string>& layer_kinds();

/// Reads the factors of those kinds that the mapping has, at least 1, and no other key.
void read_overlap(YamlMap map, const std::vector<std::string>& kinds,
                  std::map<std::string, double>& overlap);

/// Those keys.
[[nodiscard]] Section overlap_section(const std::string& name,
                                      const std::vector<std::string>& kinds);

/// `name` and `shape` of a tensor, at most 1e15 elements.
[[nodiscard]] const Fields<ParameterSpec>& tensor_fields();

/// The keys of a profile's file.
[[nodiscard]] Section profile_file_section();

/// Reads a compute profile (schema gradwire.compute_profile/1) and checks it: kinds and gradient
/// order are known, shapes positive, and the iteration is no shorter than its parts.
/// @throws ConfigError at the place in the file.
[[nodiscard]] ComputeProfile read_profile(const YamlValue& document);
/// The same with what its recording says beside the medians: percentiles and checks, where given.
[[nodiscard]] RecordedProfile read_recorded_profile(const YamlValue& document);

/// A text that read_recorded_profile() reads back, times to ten digits. `comments` stand above it.
[[nodiscard]] std::string write_profile(const RecordedProfile& recorded,
                                        std::span<const std::string> comments = {});

}  // namespace gradwire::config
