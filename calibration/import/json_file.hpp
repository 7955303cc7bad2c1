#pragma once

#include <string>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::calibration {

/// Parses a whole JSON file: JSON is YAML, whose reader knows places, budgets and messages. A
/// member that is null counts as absent.
/// @throws ConfigError as parse_yaml.
[[nodiscard]] config::YamlValue parse_json(const std::string& text, const std::string& file);

}  // namespace gradwire::calibration
