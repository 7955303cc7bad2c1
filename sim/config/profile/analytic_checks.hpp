#pragma once

#include <string>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/gpu.hpp"
#include "sim/models/analytic_profile.hpp"

namespace gradwire::config {

/// Keys of mixed precision beside the type and the GPU that they ask for.
/// @throws ConfigError at a key that this type or GPU has no use for.
void check_precision(const YamlMap& map, const AnalyticOptions& options, const GpuSpec& gpu,
                     const std::string& dtype);

/// The other keys of a counted model beside the framework and the model that they ask for.
/// @throws ConfigError at a key that this framework or model has no use for.
void check_options(const YamlMap& map, const AnalyticOptions& options,
                   const ModelDescription& model);

}  // namespace gradwire::config
