#include "sim/config/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/catalogue.hpp"
#include "sim/config/file_kinds.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

void check_document(const YamlValue& document) {
  const std::string schema = YamlMap(document).require_choice("schema", names_of(file_kinds()));
  std::ranges::find(file_kinds(), schema, &FileKind::name)->check(document);
}

}  // namespace

void check_file(const std::string& file) {
  check_document(loaded_yaml(file));
}

std::string checked(std::string text, const std::string& output, const std::string& input) {
  try {
    check_document(parse_yaml(text, output));
  } catch (const ConfigError& error) {
    throw ConfigError({input, 0, 0},
                      fmt::format("makes a file that could not be read again ({}); expected "
                                  "values that 'gradwire check' accepts",
                                  error.what()));
  }
  return text;
}

}  // namespace gradwire::config
