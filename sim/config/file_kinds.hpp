#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario_keys.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// A kind of YAML file.
struct FileKind {
  std::string name;                          ///< that its `schema` states
  void (*check)(const YamlValue& document);  ///< reads it. @throws ConfigError
  Section (*keys)();                         ///< beside `schema`
};

/// All kinds, the scenario first. To add one, add a line there.
[[nodiscard]] const std::vector<FileKind>& file_kinds();

/// The mappings of such a file, each before those inside it, each once.
[[nodiscard]] std::vector<Section> sections_of(const FileKind& kind);
/// Those of all kinds, each once.
[[nodiscard]] std::vector<Section> all_sections();

/// A JSON Schema (draft 7) of such files, for editors: it knows every key, and refuses others.
/// Quantities are texts of a number and a unit. Of a scenario only keys of lists' items are
/// required: `points` and `vary` may give any other.
[[nodiscard]] std::string json_schema(const FileKind& kind);

}  // namespace gradwire::config
