#pragma once

#include <string>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// What load_yaml() copies; good until the file is loaded again with another text.
/// @throws ConfigError as load_yaml().
[[nodiscard]] const YamlValue& loaded_yaml(const std::string& file);

}  // namespace gradwire::config
