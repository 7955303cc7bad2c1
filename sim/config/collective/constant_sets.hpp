#pragma once

#include <string>
#include <vector>

#include "sim/config/collective/constants_yaml.hpp"

namespace gradwire::config {

/// Which constants the files of a set must have, and may not exceed.
struct ConstantSet {
  std::string name;
  void (*read)(Constants& constants);
  bool of_all_machines = false;  ///< not a library's that a scenario names
};
[[nodiscard]] const std::vector<ConstantSet>& constant_sets();

/// Reads a file of constants by its set. @throws ConfigError at the place in the file.
[[nodiscard]] Constants read_constants(const YamlValue& document);

}  // namespace gradwire::config
