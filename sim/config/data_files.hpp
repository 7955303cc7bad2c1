#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// The kinds of data that are named in YAML and live in files of their own.
enum class DataKind {
  profile,
  gpu,
  node,
  cluster,
  collective_table,
  efficiencies,
  compressor_costs,
  constants
};

/// Where the shipped data live: $GRADWIRE_DATA, else ../share/gradwire beside the program's folder
/// (installed), else the source tree.
[[nodiscard]] std::filesystem::path data_folder();

/// The shipped names of a kind, sorted: "resnet50/v100-sxm2-32gb_fp32_b32".
[[nodiscard]] std::vector<std::string> data_names(DataKind kind);

/// Is there a shipped one of that name? Without a list of all.
[[nodiscard]] bool is_data(DataKind kind, const std::string& name);

/// A shipped name. @throws ConfigError at the value with the nearest of them.
[[nodiscard]] std::string require_data(YamlMap& map, const std::string& key, DataKind kind);

/// The file of a shipped name.
[[nodiscard]] std::filesystem::path data_file(DataKind kind, const std::string& name);

/// The file that `value`, read from key `key`, names: a shipped name, or a path ending in .yaml,
/// relative to the file that names it or to the working directory.
/// @throws ConfigError at the value when there is none, with the nearest name.
[[nodiscard]] std::string find_data(DataKind kind, const YamlValue& value, const std::string& key);

}  // namespace gradwire::config
