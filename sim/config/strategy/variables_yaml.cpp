#include <algorithm>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr const char* variables_file = "strategies/variables.yaml";  ///< in the data folder

OriginalKnob read_knob(YamlMap map, const std::string& name) {
  static const std::vector<std::string> units = {"bytes", "ms", "number", "flag", "ranks", "text"};
  OriginalKnob knob{.name = name, .key = map.require<std::string>("sets")};
  const auto unit = std::ranges::find(units, map.require_choice("unit", units));
  knob.unit = static_cast<OriginalUnit>(unit - units.begin());
  knob.source = map.require<std::string>("source");
  knob.when_set = map.value_or<std::string>("when_set", "");
  map.finish();
  return knob;
}

}  // namespace

Variables read_variables(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.variables/1");
  Variables all;
  for (YamlMap& system : map.maps("knobs")) {
    const auto strategies = system.list<std::string>("of");
    YamlMap variables = system.require_map("variables");
    for (const std::string& name : variables.keys()) {
      all.knobs.push_back(read_knob(variables.require_map(name), name));
      all.knobs.back().strategies = strategies;
    }
    system.finish();
  }
  for (YamlMap& group : map.maps("without_effect")) {
    const auto why = group.require<std::string>("why");
    const auto source = group.require<std::string>("source");
    for (std::string& name : group.list<std::string>("names")) {
      all.idle.push_back({std::move(name), why, source});
    }
    group.finish();
  }
  map.finish();
  return all;
}

const Variables& shipped_variables() {
  static const Variables all =
      read_variables(loaded_yaml((data_folder() / variables_file).string()));
  return all;
}

}  // namespace gradwire::config
