#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// What load_yaml() copies; another one where the file is loaded again with another text.
/// @throws ConfigError as load_yaml().
[[nodiscard]] std::shared_ptr<const YamlValue> shared_yaml(const std::string& file);

/// The same, good until the file is loaded again with another text.
[[nodiscard]] const YamlValue& loaded_yaml(const std::string& file);

/// What `read` makes of that: once for all points of a scenario, which share their files.
/// REQUIRES: it reads nothing else.
template <auto read>
[[nodiscard]] const auto& read_once(const std::string& file) {
  using Read = std::invoke_result_t<decltype(read), const YamlValue&>;
  static std::map<std::string, std::pair<std::shared_ptr<const YamlValue>, Read>> all;
  std::shared_ptr<const YamlValue> yaml = shared_yaml(file);
  const auto known = all.find(file);
  if (known != all.end() && known->second.first == yaml) return known->second.second;
  Read made = read(*yaml);
  return all.insert_or_assign(file, std::pair(std::move(yaml), std::move(made)))
      .first->second.second;
}

}  // namespace gradwire::config
