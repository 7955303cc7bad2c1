#include "calibration/import/json_file.hpp"

#include <vector>

namespace gradwire::calibration {
namespace {

void drop_nulls(config::YamlValue& value) {
  using Kind = config::YamlValue::Kind;
  std::erase_if(value.entries,
                [](const config::YamlEntry& entry) { return entry.value.kind == Kind::empty; });
  for (config::YamlEntry& entry : value.entries) drop_nulls(entry.value);
  for (config::YamlValue& item : value.items) drop_nulls(item);
}

}  // namespace

config::YamlValue parse_json(const std::string& text, const std::string& file) {
  config::YamlValue document = config::parse_yaml(text, file);
  drop_nulls(document);
  return document;
}

}  // namespace gradwire::calibration
