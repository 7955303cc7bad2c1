#include "sim/config/strategy/original_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/config/catalogue.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

std::int64_t non_negative(const YamlValue& value, const std::string& name) {
  const auto number = read_value(value, name, at_least(std::int64_t{0}));
  return number;
}

/// Does a list of ranks name any?
bool reads_ranks(const YamlValue& value, const std::string& name) {
  if (value.kind == YamlValue::Kind::empty || value.text.empty() || value.text == "-1") {
    return false;
  }
  const bool ranks = value.kind == YamlValue::Kind::scalar &&
                     value.text.find_first_not_of("0123456789,") == std::string::npos;
  if (ranks) return true;
  throw ConfigError(value.where, fmt::format("'{}' is {}; expected ranks with commas between them, "
                                             "such as 0,4, or -1 for none",
                                             name, describe(value)));
}

/// The value as our knob writes it.
std::string translated(const YamlValue& value, const OriginalKnob& knob) {
  switch (knob.unit) {
    case OriginalUnit::bytes:
      return fmt::format("{} B", non_negative(value, knob.name));
    case OriginalUnit::milliseconds:
      return fmt::format("{} ms", read_value<double>(value, knob.name));
    case OriginalUnit::number:
      return fmt::format("{}", non_negative(value, knob.name));
    case OriginalUnit::flag:
      static const std::vector<std::string> states = {"0", "1"};
      if (std::ranges::find(states, value.text) == states.end()) {
        fail_choice(value, knob.name, states);
      }
      if (!knob.when_set.empty()) return knob.when_set;
      return value.text == "1" ? "true" : "false";
    case OriginalUnit::ranks:
      return reads_ranks(value, knob.name) ? value.text : "-1";
    case OriginalUnit::text:
      break;
  }
  return read_value<std::string>(value, knob.name);
}

/// The knob that a variable is of a strategy, null where it is none. @throws ConfigError for a name
/// that no system reads.
const OriginalKnob* knob_of(const YamlEntry& entry, const std::string& strategy,
                            std::vector<Warning>& warnings) {
  std::vector<std::string> owners;
  for (const OriginalKnob& knob : shipped_variables().knobs) {
    if (knob.name != entry.key) continue;
    if (std::ranges::find(knob.strategies, strategy) != knob.strategies.end()) return &knob;
    // A value that the original does not take is a mistake all the same.
    static_cast<void>(translated(entry.value, knob));
    owners.insert(owners.end(), knob.strategies.begin(), knob.strategies.end());
  }
  if (!owners.empty()) {
    warnings.push_back(variable_without_effect(
        entry.key,
        fmt::format("it is of {}, the strategy is '{}'", joined_by(owners, " and "), strategy)));
    return nullptr;
  }
  const auto& idle = shipped_variables().idle;
  const auto found = std::ranges::find(idle, entry.key, &IdleVariable::name);
  if (found == idle.end()) {
    throw ConfigError(entry.where,
                      fmt::format("'{}' is no variable that an original system reads; expected one "
                                  "that 'gradwire list variables' shows{}",
                                  entry.key, suggestion(entry.key, variable_names())));
  }
  warnings.push_back(variable_without_effect(entry.key, found->why));
  return nullptr;
}

/// Is there no `compression` for a variable of it to set?
bool lacks_group(const YamlValue& strategy, const std::string& key) {
  constexpr std::string_view group = "compression";
  if (!key.starts_with(std::string(group) + ".")) return false;
  if (strategy.find(group) != nullptr) return false;
  const YamlValue* named = strategy.find("preset");
  const auto preset = named == nullptr ? std::nullopt : find_preset(named->text);
  return !preset || preset->strategy.find(group) == nullptr;
}

/// The mapping that a dotted key ends in, made where it is missing, and the key in it.
std::pair<YamlValue*, std::string> knob_place(YamlValue& map, const std::string& key,
                                              const SourceLocation& where) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return {&map, key};
  const std::string outer = key.substr(0, dot);
  auto entry = std::ranges::find(map.entries, outer, &YamlEntry::key);
  if (entry == map.entries.end()) {
    YamlValue inner;
    inner.kind = YamlValue::Kind::map;
    inner.where = where;
    map.entries.push_back({outer, where, std::move(inner)});
    entry = map.entries.end() - 1;
  }
  return {&entry->value, key.substr(dot + 1)};
}

}  // namespace

std::vector<std::string> variable_names() {
  std::vector<std::string> names = names_of(shipped_variables().knobs);
  for (const IdleVariable& variable : shipped_variables().idle) names.push_back(variable.name);
  return names;
}

std::string name_of(OriginalUnit unit) {
  switch (unit) {
    case OriginalUnit::bytes:
      return "bytes";
    case OriginalUnit::milliseconds:
      return "ms";
    case OriginalUnit::number:
      return "number";
    case OriginalUnit::flag:
      return "0 or 1";
    case OriginalUnit::ranks:
      return "ranks with commas";
    case OriginalUnit::text:
      break;
  }
  return "text";
}

bool is_variable_name(const std::string& key) {
  return std::ranges::all_of(
             key,
             [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }) &&
         std::ranges::any_of(key, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string key_of_variable(const std::string& variable, const std::string& strategy) {
  for (const OriginalKnob& knob : shipped_variables().knobs) {
    if (knob.name != variable) continue;
    if (std::ranges::find(knob.strategies, strategy) != knob.strategies.end()) return knob.key;
  }
  return "";
}

Warning variable_without_effect(const std::string& variable, const std::string& why) {
  return {"variable-without-effect", fmt::format("'{}' has no effect here: {}", variable, why)};
}

void translate_original_knobs(YamlValue& scenario, std::vector<Warning>& warnings) {
  const auto strategy = std::ranges::find(scenario.entries, "strategy", &YamlEntry::key);
  if (strategy == scenario.entries.end()) return;
  YamlValue& map = strategy->value;
  const std::string name = strategy_named(scenario);
  std::vector<YamlEntry> originals;
  std::erase_if(map.entries, [&](YamlEntry& entry) {
    if (!is_variable_name(entry.key)) return false;
    originals.push_back(entry);
    return true;
  });
  // Those that take another's place come last.
  std::stable_partition(originals.begin(), originals.end(), [](const YamlEntry& entry) {
    return std::ranges::none_of(shipped_variables().knobs, [&](const OriginalKnob& knob) {
      return knob.name == entry.key && !knob.when_set.empty();
    });
  });
  for (const YamlEntry& original : originals) {
    const OriginalKnob* knob = knob_of(original, name, warnings);
    if (knob == nullptr) continue;
    YamlValue value = original.value;
    value.kind = YamlValue::Kind::scalar;
    value.text = translated(original.value, *knob);
    value.quoted = knob->unit == OriginalUnit::text;
    value.variable = original.key;
    if (!knob->when_set.empty() && original.value.text != "1") continue;
    if (lacks_group(map, knob->key)) {
      warnings.push_back(variable_without_effect(original.key, "the strategy has no compression"));
      continue;
    }
    const auto found = knob_place(map, knob->key, original.where);
    YamlValue* const place = found.first;
    const std::string& key = found.second;
    if (const YamlValue* there = place->find(key)) {
      if (there->variable.empty()) {
        throw ConfigError(original.where,
                          fmt::format("'{}' and '{}' set the same knob; expected one of the two",
                                      original.key, knob->key));
      }
      warnings.push_back(
          variable_without_effect(there->variable, fmt::format("{} is set", original.key)));
      std::erase_if(place->entries, [&](const YamlEntry& entry) { return entry.key == key; });
    }
    place->entries.push_back({key, original.where, std::move(value)});
  }
}

}  // namespace gradwire::config
