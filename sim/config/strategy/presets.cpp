#include "sim/config/strategy/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/catalogue.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr const char* presets_schema = "gradwire.presets/1";
constexpr const char* presets_file = "strategies/presets.yaml";  ///< in the data folder

YamlValue* find_in(YamlValue& map, const std::string& key) {
  const auto entry = std::ranges::find(map.entries, key, &YamlEntry::key);
  return entry == map.entries.end() ? nullptr : &entry->value;
}

std::string text_of(const YamlValue& map, const std::string& key) {
  const YamlValue* value = map.find(key);
  return value == nullptr ? "" : value->text;
}

/// Does `map` choose another thing than the defaults do, by its name?
bool names_another(const YamlValue& map, const YamlValue& defaults, const std::string& key) {
  const std::string name = text_of(map, key);
  return !name.empty() && name != text_of(defaults, key);
}

/// Adds what `defaults` has and `map` has not.
void join(YamlValue& map, const YamlValue& defaults) {
  for (const YamlEntry& entry : defaults.entries) {
    YamlValue* own = find_in(map, entry.key);
    if (own == nullptr) {
      map.entries.push_back(entry);
    } else if (own->kind == YamlValue::Kind::map && entry.value.kind == YamlValue::Kind::map &&
               !names_another(*own, entry.value, "name")) {
      join(*own, entry.value);
    }
  }
}

Preset chosen_preset(const YamlValue& strategy) {
  const YamlValue& written = *strategy.find("preset");
  auto preset = find_preset(read_value<std::string>(written, "preset"));
  if (!preset) fail_choice(written, "preset", names_of(shipped_presets()));
  if (names_another(strategy, preset->strategy, "name")) {
    throw ConfigError(
        strategy.find("name")->where,
        fmt::format("'name' is '{}', the preset '{}' is of '{}'; expected one of the two",
                    text_of(strategy, "name"), preset->name, text_of(preset->strategy, "name")));
  }
  return *std::move(preset);
}

const Fields<Preset>& preset_fields() {
  static const Fields<Preset> fields = {
      "presets",
      "settings of an original system's run",
      {field("name", &Preset::name, "its own", {}, required),
       field("summary", &Preset::summary, "one line", {}, required),
       field("source", &Preset::source, "where the settings are from", {}, required),
       {{"strategy", required, "as in a scenario", mapping_of(strategy_section)},
        [](YamlMap& map, Preset& preset) {
          preset.strategy = map.require_value("strategy", "a mapping");
          YamlMap(preset.strategy, "strategy").require<std::string>("name");
        }},
       {{"collective", "none", "as in a scenario", mapping_of(collective_section)},
        [](YamlMap& map, Preset& preset) {
          const YamlValue* collective = map.find("collective");
          if (collective == nullptr) return;
          preset.collective = *collective;
          static_cast<void>(YamlMap(preset.collective, "collective"));
        }}}};
  return fields;
}

void read_list(YamlMap& map, std::vector<Preset>& list) {
  for (const YamlMap& entry : map.maps("presets")) {
    Preset preset;
    preset_fields().read_all(entry, preset);
    if (std::ranges::find(list, preset.name, &Preset::name) != list.end()) {
      throw ConfigError(entry.where(),
                        fmt::format("the preset '{}' is there twice; expected once", preset.name));
    }
    list.push_back(std::move(preset));
  }
}

const Fields<std::vector<Preset>>& presets_fields() {
  static const Fields<std::vector<Preset>> fields = {
      "presets_file",
      "what `strategy: {preset: NAME}` stands for",
      {{{"presets", required, "by name", list_of(mapping_of(preset_fields))}, read_list}}};
  return fields;
}

}  // namespace

Section presets_section() {
  return presets_fields().section();
}

std::vector<Preset> read_presets(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(presets_schema);
  std::vector<Preset> list;
  presets_fields().read_all(std::move(map), list);
  return list;
}

std::vector<Preset> shipped_presets() {
  return read_presets(loaded_yaml((data_folder() / presets_file).string()));
}

std::optional<Preset> find_preset(const std::string& name) {
  const auto list = shipped_presets();
  const auto preset = std::ranges::find(list, name, &Preset::name);
  return preset == list.end() ? std::nullopt : std::optional(*preset);
}

std::string strategy_named(const YamlValue& scenario) {
  const YamlValue* strategy = scenario.find("strategy");
  if (strategy == nullptr) return "";
  std::string name = text_of(*strategy, "name");
  if (!name.empty() || strategy->find("preset") == nullptr) return name;
  const auto preset = find_preset(text_of(*strategy, "preset"));
  return preset ? text_of(preset->strategy, "name") : "";
}

void expand_preset(YamlValue& scenario) {
  YamlValue* strategy = find_in(scenario, "strategy");
  if (strategy == nullptr || strategy->find("preset") == nullptr) return;
  const Preset preset = chosen_preset(*strategy);
  std::erase_if(strategy->entries, [](const YamlEntry& entry) { return entry.key == "preset"; });
  join(*strategy, preset.strategy);
  if (preset.collective.kind != YamlValue::Kind::map) return;
  YamlValue* collective = find_in(scenario, "collective");
  if (collective == nullptr) {
    scenario.entries.push_back({"collective", preset.collective.where, preset.collective});
  } else if (collective->kind == YamlValue::Kind::map &&
             !names_another(*collective, preset.collective, "library")) {
    join(*collective, preset.collective);
  }
}

}  // namespace gradwire::config
